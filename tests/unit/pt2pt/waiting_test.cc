// SPDX-License-Identifier: Apache-2.0
//
// Several threads of one rank wait at once: how many are woken per message, and how often the
// mailbox is looked into, with selective reactivation and without. Counts, no times: a message is
// sent only when all threads that can sleep do.
#include "pt2pt/waiting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr int rounds = 20;

TestJob quiet_job(int servers, int contexts = 1) {
  return TestJob(2, true,
                 {{"WEFT_SYNC_SERVERS", std::to_string(servers).c_str()},
                  {"WEFT_SYNC_SPIN_US", "0"},
                  {"WEFT_SYNC_YIELD_US", "0"}},
                 contexts);
}

int contexts_of(const TestJob& job) {
  return static_cast<int>(job.ranks[0]->contexts.engines.size());
}

/// Wait until rank 0 has received so many messages, and `n` of its threads sleep or are about to;
/// -1: however many.
void wait_until_asleep(TestJob& job, int n, int received) {
  for (bool so = false; !so; std::this_thread::yield()) {
    int blocked = 0;
    std::uint64_t messages = 0;
    for (int i = 0; i < contexts_of(job); ++i)
      job.as(
          0,
          [&](Comm& comm) {
            blocked += comm.engine->waiters.blocked;
            messages += comm.engine->counters->messages_received;
          },
          i);
    so = (n < 0 || blocked == n) && messages == static_cast<std::uint64_t>(received);
  }
}

Counters counters_of(TestJob& job) {
  Counters all;
  for (int i = 0; i < contexts_of(job); ++i)
    job.as(
        0, [&](Comm& comm) { all.add(*comm.engine->counters); }, i);
  return all;
}

void send_int(TestJob& job, int value, int tag, int context = 0) {
  job.as(
      1,
      [&](Comm& comm) {
        ASSERT_FALSE(send({&value, 4, byte_type()}, 0, tag, comm));
      },
      context);
}

/// A job in which one thread of rank 0 is the server, until the end.
struct ServedJob {
  static constexpr int last_tag = 99;
  TestJob job = quiet_job(1);
  std::thread server{[this] {
    job.as(0, [](Comm& comm) {
      int value;
      ASSERT_FALSE(recv({&value, 4, byte_type()}, 1, last_tag, comm, MPI_STATUS_IGNORE));
    });
  }};
  ServedJob() { wait_until_asleep(job, 1, 0); }
  void end() {
    send_int(job, 0, last_tag);
    server.join();
  }
};

struct Counts {
  double polls, signals, in_vain, servers, empty;  // per message
};

/// `threads` threads of rank 0 receive one message after another, each of its own tag, or all of
/// the same; on communicators of `contexts` contexts in turn.
Counts receive_among(int threads, int servers, bool same_tag = false, int contexts = 1) {
  TestJob job = quiet_job(servers, contexts);
  const auto tag = [same_tag](int t) { return same_tag ? 0 : t; };
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i)
        job.as(
            0,
            [&](Comm& comm) {
              int value = -1;
              ASSERT_FALSE(recv({&value, 4, byte_type()}, 1, tag(t), comm, MPI_STATUS_IGNORE));
              if (!same_tag) {
                EXPECT_EQ(value, i);
              }
            },
            t % contexts);
    });
  wait_until_asleep(job, threads, 0);
  const Counters before = counters_of(job);
  for (int i = 0; i < rounds - 1; ++i)
    for (int t = 0; t < threads; ++t) {
      // Others than the one that got it may have received all that they want.
      const int received = i * threads + t + 1;
      send_int(job, i, tag(t), t % contexts);
      wait_until_asleep(job, same_tag ? -1 : threads, received);
    }
  const Counters c = counters_of(job);
  const double n = (rounds - 1) * threads;
  const auto per_message = [n](std::uint64_t now, std::uint64_t then) {
    return static_cast<double>(now - then) / n;
  };
  const Counts counts{per_message(c.polls, before.polls), per_message(c.signals, before.signals),
                      per_message(c.signals_in_vain, before.signals_in_vain),
                      per_message(c.servers, before.servers),
                      per_message(c.lock_in_vain, before.lock_in_vain)};
  for (int t = 0; t < threads; ++t) send_int(job, rounds - 1, tag(t), t % contexts);
  for (std::thread& thread : all) thread.join();
  return counts;
}

TEST(Waiting, PollsPerMessageDoNotGrowWithThreads) {
  std::map<int, Counts> all_with, all_without;
  for (const int threads : {2, 4, 8, 16}) {
    const Counts with = all_with[threads] = receive_among(threads, 1);
    const Counts without = all_without[threads] = receive_among(threads, 0);
    std::printf(
        "%2d threads: per message %5.1f looks, %.2f signals, %.2f in vain, %.2f servers, "
        "%5.1f empty; without reactivation %5.1f looks, %5.1f empty\n",
        threads, with.polls, with.signals, with.in_vain, with.servers, with.empty, without.polls,
        without.empty);
    EXPECT_EQ(with.in_vain, 0);
    // Each message wakes the thread that it is for, once; unless that was the server, or comes back
    // as the server before the deputy has seen that it left.
    EXPECT_LE(with.signals + with.servers, 1);
    EXPECT_DOUBLE_EQ(without.signals + without.servers, 0);
  }
  // About constant with reactivation; without it each waiting thread looks at each message.
  EXPECT_LE(all_with[16].polls, 2 * all_with[2].polls);
  double of_two = all_without[2].polls;  // on a busy machine sometimes more: threads look again
  for (int tries = 0; tries < 5 && all_without[16].polls < 4 * of_two; ++tries)
    of_two = std::min(of_two, receive_among(2, 0).polls);
  EXPECT_GE(all_without[16].polls, 4 * of_two);
  EXPECT_GE(all_without[16].polls, 4 * all_with[16].polls);
}

/// The same with communicators of their own: then threads apart are told nothing of each other.
TEST(Waiting, NorInSeveralContexts) {
  for (const int contexts : {2, 8}) {
    std::map<int, Counts> all;
    for (const int threads : {2, 4, 8, 16}) {
      const Counts c = all[threads] = receive_among(threads, 1, false, contexts);
      std::printf(
          "%2d threads in %d contexts: per message %5.1f looks, %.2f signals, %.2f in vain, "
          "%.2f servers, %5.1f empty\n",
          threads, contexts, c.polls, c.signals, c.in_vain, c.servers, c.empty);
      EXPECT_EQ(c.in_vain, 0);
      // Alone in its context each is its server. Else one is woken, or was awake (the deputy).
      EXPECT_LE(c.signals + c.servers, threads <= contexts ? 0 : 1);
    }
    EXPECT_LE(all[16].polls, 2 * all[2].polls);
  }
}

/// What any of several threads may receive goes to the one that is awake.
TEST(Waiting, AMessageForAnyOfSeveralThreadsWakesNone) {
  for (const int threads : {2, 4, 8, 16}) {
    const Counts counts = receive_among(threads, 1, true);
    EXPECT_EQ(counts.signals, 0) << threads << " threads";
    EXPECT_EQ(counts.in_vain, 0) << threads << " threads";
  }
}

TEST(Waiting, WaitallIsWokenOnce) {
  ServedJob served;
  TestJob& job = served.job;
  constexpr int messages = 10;
  // It waits for ten messages at once.
  std::thread waiter([&job] {
    job.as(0, [&](Comm& comm) {
      int values[messages];
      MPI_Request requests[messages];
      for (int i = 0; i < messages; ++i)
        ASSERT_FALSE(irecv({&values[i], 4, byte_type()}, 1, i, comm, &requests[i]));
      ASSERT_FALSE(waitall(requests, MPI_STATUSES_IGNORE));
      for (int i = 0; i < messages; ++i) EXPECT_EQ(values[i], 7 * i);
    });
  });
  wait_until_asleep(job, 2, 0);
  for (int i = 0; i < messages; ++i) {
    EXPECT_EQ(counters_of(job).signals, 0U);
    send_int(job, 7 * i, i);
    if (i < messages - 1) wait_until_asleep(job, 2, i + 1);
  }
  waiter.join();
  EXPECT_EQ(counters_of(job).signals, 1U);
  served.end();
  EXPECT_EQ(counters_of(job).signals_in_vain, 0U);
}

TEST(Waiting, WaitanyIsWokenByTheFirst) {
  ServedJob served;
  TestJob& job = served.job;
  std::thread waiter([&job] {
    job.as(0, [&](Comm& comm) {
      int values[3], index = -1;
      MPI_Request requests[3];
      for (int i = 0; i < 3; ++i)
        ASSERT_FALSE(irecv({&values[i], 4, byte_type()}, 1, i, comm, &requests[i]));
      ASSERT_FALSE(waitany(requests, &index, MPI_STATUS_IGNORE));
      EXPECT_EQ(index, 1);
      ASSERT_FALSE(waitall(requests, MPI_STATUSES_IGNORE));
    });
  });
  wait_until_asleep(job, 2, 0);
  send_int(job, 1, 1);
  wait_until_asleep(job, 2, 1);  // now in waitall
  send_int(job, 0, 0);
  send_int(job, 2, 2);
  waiter.join();
  EXPECT_EQ(counters_of(job).signals, 2U);
  served.end();
}

/// Threads that probe are woken by the server, which asks for them; so is the next server.
TEST(Waiting, ProbesAreAnsweredByTheServer) {
  TestJob job = quiet_job(1);
  std::vector<std::thread> all;
  constexpr int threads = 6;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&job, t] {
      job.as(0, [&](Comm& comm) {
        int value = -1;
        MPI_Message message;
        ASSERT_FALSE(mprobe(1, t, comm, &message, MPI_STATUS_IGNORE));
        ASSERT_FALSE(mrecv({&value, 4, byte_type()}, &message, MPI_STATUS_IGNORE));
        EXPECT_EQ(value, t);
      });
    });
  wait_until_asleep(job, threads, 0);
  for (int t = 0; t < threads; ++t) {
    send_int(job, t, t);
    wait_until_asleep(job, threads - 1 - t, t + 1);
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(counters_of(job).signals_in_vain, 0U);
}

/// One message, several threads that probe for it: all but one wait on.
TEST(Waiting, AMatchedMessageGoesToOneThread) {
  TestJob job = quiet_job(1);
  std::vector<std::thread> all;
  constexpr int threads = 5;
  std::atomic<int> sum{0};
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&] {
      job.as(0, [&](Comm& comm) {
        int value = -1;
        MPI_Message message;
        ASSERT_FALSE(mprobe(MPI_ANY_SOURCE, 5, comm, &message, MPI_STATUS_IGNORE));
        ASSERT_FALSE(mrecv({&value, 4, byte_type()}, &message, MPI_STATUS_IGNORE));
        sum += value;
      });
    });
  wait_until_asleep(job, threads, 0);
  for (int t = 0; t < threads; ++t) {
    send_int(job, 1 << t, 5);
    wait_until_asleep(job, threads - 1 - t, t + 1);
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(sum, (1 << threads) - 1);
}

/// Parameter sync.servers: so many look, each of the others is woken when its own message is there.
TEST(Waiting, SeveralServers) {
  constexpr int threads = 8, servers = 3;
  TestJob job = quiet_job(servers);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&job, t] {
      job.as(0, [&](Comm& comm) {
        int value = -1;
        ASSERT_FALSE(recv({&value, 4, byte_type()}, 1, t, comm, MPI_STATUS_IGNORE));
        EXPECT_EQ(value, 10 * t);
      });
    });
  wait_until_asleep(job, threads, 0);
  for (int t = 0; t < threads; ++t) {
    // One that has its message is a server until it leaves; it is followed soon, by the deputy
    // perhaps.
    const int expected = std::min(servers, threads - t);
    for (bool so = false; !so; std::this_thread::yield())
      job.as(0, [&](Comm& comm) {
        const Waiters& w = comm.engine->waiters;
        EXPECT_LE(w.servers, servers) << t;
        so = w.servers == expected && w.sleeping == expected;
      });
    send_int(job, 10 * t, t);
    wait_until_asleep(job, threads - 1 - t, t + 1);
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(counters_of(job).signals_in_vain, 0U);
  job.as(0, [](Comm& comm) { EXPECT_EQ(comm.engine->waiters.servers, 0); });
}

/// Threads of rank 0 that wait for flags, while their server stays awake.
struct Watchers {
  static constexpr int threads = 8;
  TestJob job{2, true, {{"WEFT_SYNC_SPIN_US", "10000000"}, {"WEFT_SYNC_YIELD_US", "10000000"}}};
  std::atomic<bool> flag[threads] = {};
  std::uint64_t asked = 0;  // under the context's lock
  std::vector<std::thread> all;

  Watchers() {
    for (int t = 0; t < threads; ++t)
      all.emplace_back([this, t] {
        job.as(0, [&](Comm& comm) {
          const About about{.what = hang::What::other, .comm = &comm};
          const auto done = [&] {
            ++asked;
            return flag[t].load(std::memory_order_acquire);
          };
          wait_until(*comm.engine, done, {.about = &about});
        });
      });
    wait_until_asleep(job, threads - 1, 0);  // one is the server
  }
  struct Seen {
    std::uint64_t looks, asked;
  };
  Seen seen() {
    Seen now{};
    job.as(0, [&](Comm& comm) { now = {comm.engine->counters->polls, asked}; });
    return now;
  }
};

/// Who writes a flag rings; so a look costs the same however many threads watch.
TEST(Waiting, WatchersAreNotAskedAtEachLook) {
  Watchers w;
  const Watchers::Seen before = w.seen();
  Watchers::Seen now = before;
  while (now.looks - before.looks < 2000) now = w.seen();
  // The server asks itself twice a look; the seven others are asked every 64 looks.
  const double per_look =
      static_cast<double>(now.asked - before.asked) / static_cast<double>(now.looks - before.looks);
  EXPECT_LE(per_look, 3);
  for (int t = 0; t < Watchers::threads; ++t) {
    std::uint32_t rings = 0;
    w.job.as(0, [&](Comm& comm) { rings = comm.engine->inbox.rings(); });
    w.flag[t].store(true, std::memory_order_release);
    w.job.as(1, [](Comm& comm) { wake_rank(*comm.engine, 0); });
    w.job.as(0, [&](Comm& comm) {
      const bool many = t < Watchers::threads - 4;  // still watching
      if (many) {
        EXPECT_EQ(comm.engine->inbox.rings(), rings + 1);
      }
    });
  }
  for (std::thread& thread : w.all) thread.join();
}

/// A flag that nobody rings for is found a little later.
TEST(Waiting, AWatcherThatNobodyRingsForIsAskedNowAndThen) {
  Watchers w;
  for (auto& flag : w.flag) flag.store(true, std::memory_order_release);
  for (std::thread& thread : w.all) thread.join();
}

/// A thread that does not wait may complete what others wait for, the server too.
TEST(Waiting, AnActiveThreadWakesTheServer) {
  TestJob job = quiet_job(1);
  for (int round = 0; round < 5; ++round) {
    std::thread waiter([&job] {
      job.as(0, [&](Comm& comm) {
        int value = -1;
        ASSERT_FALSE(recv({&value, 4, byte_type()}, 0, 3, comm, MPI_STATUS_IGNORE));
        EXPECT_EQ(value, 11);
      });
    });
    wait_until_asleep(job, 1, round);
    job.as(0, [](Comm& comm) {
      const int value = 11;
      ASSERT_FALSE(send({&value, 4, byte_type()}, 0, 3, comm));
      progress(*comm.engine);
    });
    waiter.join();
  }
}

/// Nobody tells a rank that a peer's ring has room again, so its server must not sleep meanwhile.
TEST(Waiting, AFullRingKeepsTheServerAwake) {
  ServedJob served;
  TestJob& job = served.job;
  constexpr int messages = 1000;  // more than the ring has cells
  std::thread sender([&job] {
    job.as(0, [&](Comm& comm) {
      for (int i = 0; i < messages; ++i) ASSERT_FALSE(send({&i, 4, byte_type()}, 1, 1, comm));
    });
  });
  // Look nowhere before the sender has found the ring full and waits for room.
  for (bool full = false; !full; std::this_thread::yield())
    job.as(0, [&](Comm& comm) { full = comm.engine->waiters.waiting == 2; });
  job.as(1, [&](Comm& comm) {
    for (int i = 0; i < messages; ++i) {
      int value = -1;
      ASSERT_FALSE(recv({&value, 4, byte_type()}, 0, 1, comm, MPI_STATUS_IGNORE));
      EXPECT_EQ(value, i);
    }
  });
  sender.join();
  served.end();
}

}  // namespace
}  // namespace weft::pt2pt
