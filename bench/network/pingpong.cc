// SPDX-License-Identifier: Apache-2.0
//
// Half a round trip between two endpoints (src/net) of two processes: messages as fi_pingpong -e
// rdm measures them, and reads of a peer's memory. Also what an enrolment costs.
//
//   weft_net_pingpong [provider [interface [round trips]]]
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "net/fabric.h"

namespace {

using namespace weft;
using namespace weft::net;

template <class T>
T need(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", last_error_text(result.err.cls));
    std::exit(1);
  }
  return std::move(result.value);
}

struct Counter : Listener {
  void received(std::span<std::byte> message) override { ++messages; }
  void returned(std::byte*) override { ++returns; }
  void finished(Operation&, Err err) override {
    if (err) need(Result<int>(err));
    ++transfers;
  }
  void lost(Peer, Err err) override { need(Result<int>(err)); }
  long messages = 0, transfers = 0, returns = 0;
};

class Side {
 public:
  Side(const Wish& wish, int pipe, std::size_t room_bytes) {
    fabric_ = need(Fabric::open(wish));
    end_ = need(fabric_->endpoint({.receives = 32, .sends = 32, .room_bytes = room_bytes}));
    Address theirs = end_->address();
    if (write(pipe, theirs.data(), theirs.size()) < 0 ||
        read(pipe, theirs.data(), theirs.size()) < 0)
      std::exit(1);
    peer_ = need(end_->add_peer(theirs));
  }
  void send(std::size_t bytes) {
    std::byte* room = nullptr;
    while ((room = end_->reserve()) == nullptr) need(end_->progress(heard_));
    while (!need(end_->commit(room, bytes, peer_))) need(end_->progress(heard_));
  }
  void receive() {
    for (const long before = heard_.messages; heard_.messages <= std::max(before, taken_);)
      need(end_->progress(heard_));
    ++taken_;
  }
  void read_memory(std::span<std::byte> memory, Remote from) {
    Registration own = need(end_->enroll(memory, Use::own));
    Operation operation;
    const long before = heard_.transfers;
    while (!need(end_->read(operation, memory, own, peer_, from))) need(end_->progress(heard_));
    while (heard_.transfers == before) need(end_->progress(heard_));
  }
  Endpoint& end() { return *end_; }
  void finish() {
    while (!end_->is_idle()) need(end_->progress(heard_));
  }

 private:
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Endpoint> end_;
  Counter heard_;
  Peer peer_ = 0;
  long taken_ = 0;
};

using Clock = std::chrono::steady_clock;
double us(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

/// Medians of batches, in us each.
template <class F>
double measure(int times, F&& once) {
  std::vector<double> batches;
  for (int batch = 0; batch < 21; ++batch) {
    const auto begin = Clock::now();
    for (int i = 0; i < times / 20; ++i) once();
    if (batch > 0) batches.push_back(us(Clock::now() - begin) / (times / 20));
  }
  std::nth_element(batches.begin(), batches.begin() + 10, batches.end());
  return batches[10];
}

}  // namespace

int main(int argc, char** argv) {
  const Wish wish{argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "lo"};
  const int times = argc > 3 ? std::atoi(argv[3]) : 20000;
  constexpr std::size_t sizes[] = {8, 1024, 65536};
  int pipe[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pipe) != 0) return 1;
  const bool is_first = fork() != 0;
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(is_first ? 0 : 1, &cpu);
  sched_setaffinity(0, sizeof cpu, &cpu);
  Side side(wish, pipe[is_first ? 0 : 1], 65536);
  for (const std::size_t bytes : sizes) {
    const double round = measure(times, [&] {
      if (is_first) side.send(bytes);
      side.receive();
      if (!is_first) side.send(bytes);
    });
    if (is_first) std::printf("message %8zu B %8.2f us\n", bytes, round / 2);
  }
  std::vector<std::byte> memory(1 << 20, std::byte{1});
  if (is_first && side.end().reaches_memory()) {
    Remote there;
    if (read(pipe[0], &there, sizeof there) != sizeof there) return 1;
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}, memory.size()})
      std::printf("read    %8zu B %8.2f us\n", bytes, measure(times / 10, [&] {
                    side.read_memory(std::span(memory).first(bytes), there);
                  }));
    std::printf("enroll %9zu B %8.2f us\n", memory.size(), measure(times, [&] {
                  static_cast<void>(need(side.end().enroll(memory, Use::peers)));
                }));
    side.send(8);
  } else if (side.end().reaches_memory()) {
    const Registration shown = need(side.end().enroll(memory, Use::peers));
    const Remote name = shown.remote();
    if (write(pipe[1], &name, sizeof name) < 0) return 1;
    side.receive();
  }
  side.finish();
}
