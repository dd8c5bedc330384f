// SPDX-License-Identifier: Apache-2.0
//
// Compiled as the library is, so that what the programs touch is charged too.
#include "programs.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "base/params.h"
#include "simulation.h"
#include "sync/locks.h"
#include "sync/signal.h"
#include "sync/spin.h"

namespace weft::simulator {
namespace {

/// Between two calls of a thread.
constexpr double between_ns = 50;

/// A call of the library, or a few.
class Doing {
 public:
  explicit Doing(Phase phase) {
    Fiber& me = Simulation::now()->fibers().current();
    me.phase = phase;
    began_ns_ = me.now_ns;
  }
  ~Doing() {
    Fiber& me = Simulation::now()->fibers().current();
    me.phase = outside;
    me.in_calls_ns += me.now_ns - began_ns_;
  }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  double began_ns_;
};

void work_outside() {
  Simulation::now()->spend(between_ns);
}

using Buffer = std::vector<char>;

void send(const Buffer& data, int to, int tag) {
  const Doing doing(wait);
  MPI_Send(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}
void receive(Buffer& data, int from, int tag) {
  const Doing doing(wait);
  MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

void ping(int times, int bytes) {
  Buffer data(static_cast<std::size_t>(bytes));
  for (int i = 0; i < times; ++i) {
    send(data, 1, 1);
    receive(data, 1, 1);
    work_outside();
  }
}
void pong(int times, int bytes) {
  Buffer data(static_cast<std::size_t>(bytes));
  for (int i = 0; i < times; ++i) {
    receive(data, 0, 1);
    send(data, 0, 1);
    work_outside();
  }
}

constexpr int answer_tag = 1000;

void send_windows(int index, int rounds, int bytes, int window) {
  const auto size = static_cast<std::size_t>(window);
  std::vector<Buffer> data(size, Buffer(static_cast<std::size_t>(bytes)));
  std::vector<MPI_Request> requests(size);
  Buffer answer(1);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < size; ++i) {
      const Doing doing(issue);
      MPI_Isend(data[i].data(), bytes, MPI_BYTE, 1, index, MPI_COMM_WORLD, &requests[i]);
      work_outside();
    }
    {
      const Doing doing(wait);
      MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    }
    receive(answer, 1, answer_tag + index);
  }
}
void receive_windows(int index, int rounds, int bytes, int window) {
  const auto size = static_cast<std::size_t>(window);
  std::vector<Buffer> data(size, Buffer(static_cast<std::size_t>(bytes)));
  std::vector<MPI_Request> requests(size);
  const Buffer answer(1);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < size; ++i) {
      const Doing doing(issue);
      MPI_Irecv(data[i].data(), bytes, MPI_BYTE, 0, index, MPI_COMM_WORLD, &requests[i]);
      work_outside();
    }
    {
      const Doing doing(wait);
      MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    }
    send(answer, 0, answer_tag + index);
  }
}

sync::LockKind kind_of_lock() {
  return static_cast<sync::LockKind>(Params::from_env(false).integer(P::sync_lock));
}
sync::LockSettings settings() {
  sync::LockSettings s;
  s.bias = static_cast<std::uint32_t>(Params::from_env(false).integer(P::sync_bias));
  s.domains = sync::domain_count();
  s.domain = sync::current_domain;
  return s;
}

}  // namespace

Program latency(const Work& work) {
  const int messages = work.rounds > 0 ? work.rounds : std::max(120, 6 * work.threads);
  Program out;
  out.messages = double(messages);
  out.per_time = 0.5;
  out.threads.push_back({0, 0, [=] { ping(messages, work.bytes); }});
  for (int i = 0; i < work.threads; ++i) {
    const int times = messages / work.threads + (i < messages % work.threads ? 1 : 0);
    out.threads.push_back({1, i, [=] { pong(times, work.bytes); }});
  }
  return out;
}

Program stream(const Work& work, int window) {
  const int rounds = work.rounds > 0 ? work.rounds : 2;
  Program out;
  out.messages = double(work.threads) * rounds * window;
  for (int i = 0; i < work.threads; ++i) {
    out.threads.push_back({0, i, [=] { send_windows(i, rounds, work.bytes, window); }});
    out.threads.push_back({1, i, [=] { receive_windows(i, rounds, work.bytes, window); }});
  }
  return out;
}

Program critical_sections(const Work& work, std::vector<int>& order) {
  constexpr int lines = 6;
  struct alignas(64) Line {
    long words[8];
  };
  struct State {
    std::unique_ptr<sync::Lock> lock = sync::make_lock(kind_of_lock(), settings());
    Line line[lines] = {};
  };
  const auto state = std::make_shared<State>();
  const int rounds = work.rounds > 0 ? work.rounds : 50;
  Program out;
  out.messages = double(work.threads) * rounds;
  for (int i = 0; i < work.threads; ++i)
    out.threads.push_back({0, i, [=, &order] {
                             for (int round = 0; round < rounds; ++round) {
                               const Doing doing(issue);
                               state->lock->acquire();
                               for (Line& line : state->line) ++line.words[0];
                               order.push_back(i);
                               state->lock->release();
                               work_outside();
                             }
                           }});
  return out;
}

Program handover(const Work& work, bool in_kernel) {
  struct State {
    std::unique_ptr<sync::Lock> lock = sync::make_lock(kind_of_lock(), settings());
    alignas(64) sync::Signal signal[2];
    alignas(64) sync::Signal other;
    sync::Signal& of(int who) { return who == 0 ? signal[0] : other; }
  };
  const auto state = std::make_shared<State>();
  const int rounds = work.rounds > 0 ? work.rounds : 100;
  const auto body = [=](int me) {
    const sync::LockSettings how;
    for (int round = 0; round < rounds; ++round) {
      if (me == 1 || round > 0) {
        for (sync::Spin spin(how); !state->of(me).is_given();)
          in_kernel ? static_cast<void>(state->of(me).sleep()) : spin.look();
        state->of(me).reset();
      }
      state->lock->acquire();
      state->of(1 - me).give();
      state->lock->release();
    }
  };
  Program out;
  out.messages = 2.0 * rounds;
  out.threads.push_back({0, 0, [=] { body(0); }});
  out.threads.push_back({0, work.threads, [=] { body(1); }});
  return out;
}

}  // namespace weft::simulator
