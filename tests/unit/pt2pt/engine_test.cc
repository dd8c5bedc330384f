// SPDX-License-Identifier: Apache-2.0
//
// Engines of several ranks as threads of the test, without launcher: every protocol, small rings so
// that sends queue, several threads per rank. Runs under TSan: this is where the mailbox, the copy
// jobs and parking are watched.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

std::byte expected(int source, int tag, std::size_t i) {
  return static_cast<std::byte>((static_cast<std::size_t>(source * 37 + tag * 11) + i * 7) & 0xff);
}

std::int64_t size_of_message(int tag) {
  constexpr std::int64_t sizes[] = {0, 1, 8, 32, 33, 500, 2048, 2049, 10000, 65536, 200001};
  return sizes[tag % 11];
}

void fill(std::vector<std::byte>& data, int source, int tag) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = expected(source, tag, i);
}

bool is_filled(const std::vector<std::byte>& data, int source, int tag) {
  for (std::size_t i = 0; i < data.size(); ++i)
    if (data[i] != expected(source, tag, i)) return false;
  return true;
}

/// Every rank sends `messages` to every rank, itself included, and receives as many.
void exchange(TestJob& job, int me, int base_tag, int messages) {
  const int n = static_cast<int>(job.ranks.size());
  std::vector<std::vector<std::byte>> out, in;
  std::vector<MPI_Request> requests;
  job.as(me, [&](Comm& comm) {
    for (int k = 0; k < messages; ++k) {
      const int tag = base_tag + k;
      for (int peer = 0; peer < n; ++peer) {
        in.emplace_back(static_cast<std::size_t>(size_of_message(tag)));
        MPI_Request request;
        ASSERT_FALSE(irecv({in.back().data(), size_of_message(tag), byte_type()}, peer, tag, comm,
                           &request));
        requests.push_back(request);
        out.emplace_back(static_cast<std::size_t>(size_of_message(tag)));
        fill(out.back(), me, tag);
        const Mode mode = k % 3 == 0 ? Mode::synchronous : Mode::standard;
        ASSERT_FALSE(isend({out.back().data(), size_of_message(tag), byte_type()}, peer, tag, comm,
                           mode, &request));
        requests.push_back(request);
      }
    }
    ASSERT_FALSE(waitall(requests, MPI_STATUSES_IGNORE));
  });
  std::size_t at = 0;
  for (int k = 0; k < messages; ++k)
    for (int peer = 0; peer < n; ++peer, ++at) EXPECT_TRUE(is_filled(in[at], peer, base_tag + k));
}

class EngineApart : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Nodes, EngineApart, testing::Bool(), [](const auto& info) {
  return info.param ? "on_other_nodes" : "on_one_node";
});

TEST_P(EngineApart, moves_messages_of_all_protocols_among_ranks) {
  TestJob job(3, false, {}, 1, GetParam());
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&job, r] {
      for (int round = 0; round < 10; ++round) exchange(job, r, 100 * round, 22);
      // As MPI_Finalize does: peers may wait for a message that found no room.
      job.as(r, [](Comm& comm) {
        Engine& e = *comm.engine;
        wait_until(e, [&e] { return e.busy.empty() && e.offers() == 0; });
      });
    });
  for (std::thread& t : threads) t.join();
  for (const auto& rank : job.ranks) {
    EXPECT_TRUE(rank->engine.busy.empty());
    EXPECT_EQ(rank->engine.offers(), 0u);
    EXPECT_EQ(rank->engine.requests.live(), 1u);  // the shared completed one
    EXPECT_EQ(rank->comm.refs, 1);
  }
}

TEST(Engine, serves_several_threads_of_a_rank) {
  TestJob job(2, true);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&job, r, t] {
        for (int round = 0; round < 5; ++round) exchange(job, r, 10000 * t + 100 * round, 11);
      });
  for (std::thread& t : threads) t.join();
}

/// A spawned rank sends at once, perhaps before who spawned it knows that it has the place.
TEST(Engine, keeps_what_began_before_it_met_the_sender) {
  TestJob job(2, false, {{"WEFT_PT2PT_EAGER_MAX", "65536"}});
  memory::RankEntry& sender = job.jobs[0]->entry(0);
  sender.world = {0, 1};
  std::vector<std::byte> out(60'000), in(out.size());
  const auto bytes = static_cast<std::int64_t>(out.size());
  fill(out, 0, 1);
  MPI_Request sent, received;
  job.as(0, [&](Comm& comm) {
    ASSERT_FALSE(isend({out.data(), bytes, byte_type()}, 1, 1, comm, Mode::standard, &sent));
    EXPECT_FALSE(comm.engine->busy.empty());  // the ring has no room for the rest
  });
  job.as(1, [&](Comm& comm) {
    progress(*comm.engine);
    EXPECT_EQ(comm.engine->counters->unexpected, 1u);
    sender.incarnation.store(1);
    comm.engine->meet({0});
  });
  for (int i = 0; i < 100; ++i)  // the rest, before there is a receive
    for (const int rank : {0, 1}) job.as(rank, [](Comm& comm) { progress(*comm.engine); });
  job.as(1, [&](Comm& comm) {
    ASSERT_FALSE(irecv({in.data(), bytes, byte_type()}, 0, 1, comm, &received));
  });
  for (const int rank : {0, 1})
    job.as(rank, [&](Comm&) {
      std::vector<MPI_Request> requests{rank == 0 ? sent : received};
      ASSERT_FALSE(waitall(requests, MPI_STATUSES_IGNORE));
    });
  EXPECT_TRUE(is_filled(in, 0, 1));
}

TEST(Engine, wakes_sleepers) {
  TestJob job(2, true);
  std::vector<std::thread> threads;
  constexpr int rounds = 20;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&job, t] {
      for (int i = 0; i < rounds; ++i)
        job.as(0, [&](Comm& comm) {
          int value = -1;
          ASSERT_FALSE(recv({&value, 4, byte_type()}, 1, t, comm, MPI_STATUS_IGNORE));
          EXPECT_EQ(value, i);
        });
    });
    threads.emplace_back([&job, t] {
      for (int i = 0; i < rounds; ++i) {
        // Its receiver waits for this very message, so sooner or later it sleeps.
        for (bool asleep = false; !asleep;) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          job.as(0, [&](Comm& comm) { asleep = comm.engine->waiters.sleeping > 0; });
        }
        job.as(1, [&](Comm& comm) { ASSERT_FALSE(send({&i, 4, byte_type()}, 0, t, comm)); });
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GT(job.ranks[0]->counters.parks, 0u);
}

}  // namespace
}  // namespace weft::pt2pt
