// SPDX-License-Identifier: Apache-2.0
//
// Messages to another node that follow their announcement by themselves: two ranks in one thread,
// each doing one step at a time.
#include <gtest/gtest.h>

#include <vector>

#include "datatype/api.h"
#include "pt2pt/deaths.h"
#include "shm/deaths.h"
#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

/// Rank 0 sends to rank 1. What rank 1 has been told of comes once it is let in.
struct AnnouncedTest : testing::Test {
  static constexpr std::int64_t n = 3 * Packet::most;
  TestJob job{2, false, {}, 1, true};
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  TestNetwork& network = static_cast<TestNetwork&>(*from.network);
  TestNetwork& there = static_cast<TestNetwork&>(*to.network);
  std::vector<std::byte> out = std::vector<std::byte>(n), in = std::vector<std::byte>(n);
  MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;

  AnnouncedTest() {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
    network.lends = network.announces = there.holds_awaited = true;
    from.peer(1).announced_max = n;
  }
  void send() {
    ASSERT_FALSE(
        isend({out.data(), n, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard, &sending));
  }
  void receive(std::int64_t bytes) {
    ASSERT_FALSE(irecv({in.data(), bytes, byte_type()}, 0, 1, job.ranks[1]->comm, &receiving));
  }
  void turns() {
    for (int i = 0; i < 20; ++i) {
      progress(to);
      progress(from);
    }
  }
  void let_in() {
    EXPECT_EQ(there.awaited.size(), 1u);
    there.holds_awaited = false;
    turns();
    there.holds_awaited = true;
  }
  bool is_done(MPI_Request request) { return request_of(request)->done; }
  void expect_nothing_kept() {
    EXPECT_EQ(to.matcher.first_arrived(), nullptr);
    EXPECT_EQ(to.unexpected_bytes, 0);
  }
};

TEST_F(AnnouncedTest, comes_into_the_receive_without_a_copy) {
  const std::uint64_t before = job.ranks[1]->counters.bytes_copied;
  receive(n);
  send();
  turns();
  EXPECT_FALSE(is_done(receiving));
  let_in();
  ASSERT_TRUE(is_done(receiving));
  ASSERT_TRUE(is_done(sending));
  MPI_Status status;
  EXPECT_FALSE(wait(&receiving, &status));
  EXPECT_FALSE(wait(&sending, MPI_STATUS_IGNORE));
  EXPECT_EQ(in, out);
  EXPECT_EQ(status.MPI_SOURCE, 0);
  EXPECT_EQ(job.ranks[1]->counters.bytes_copied, before);
}

TEST_F(AnnouncedTest, is_kept_until_a_receive_wants_it_before_or_after_it_is_here) {
  for (const bool is_here : {false, true}) {
    std::fill(in.begin(), in.end(), std::byte{0});
    send();
    turns();
    EXPECT_EQ(to.unexpected_bytes, n);
    if (is_here) let_in();
    receive(n);
    EXPECT_EQ(is_done(receiving), is_here);
    if (!is_here) let_in();
    ASSERT_TRUE(is_done(receiving));
    EXPECT_FALSE(wait(&receiving, MPI_STATUS_IGNORE));
    EXPECT_FALSE(wait(&sending, MPI_STATUS_IGNORE));
    EXPECT_EQ(in, out);
    expect_nothing_kept();
  }
}

TEST_F(AnnouncedTest, is_cut_where_the_receive_is_shorter) {
  receive(n - 9);
  send();
  turns();
  let_in();
  ASSERT_TRUE(is_done(receiving));
  EXPECT_EQ(wait(&receiving, MPI_STATUS_IGNORE).cls, MPI_ERR_TRUNCATE);
  EXPECT_TRUE(std::equal(in.begin(), in.end() - 9, out.begin()));
  EXPECT_EQ(in.back(), std::byte{0});
  EXPECT_FALSE(wait(&sending, MPI_STATUS_IGNORE));
  expect_nothing_kept();
}

TEST_F(AnnouncedTest, is_cancelled_before_or_after_it_is_here) {
  for (const bool is_here : {false, true}) {
    send();
    turns();
    if (is_here) let_in();
    ASSERT_FALSE(cancel(&sending));
    turns();
    ASSERT_TRUE(is_done(sending));
    if (!is_here) {
      EXPECT_EQ(to.unexpected_bytes, n) << "the network still writes it";
      let_in();
    }
    MPI_Status status;
    EXPECT_FALSE(wait(&sending, &status));
    EXPECT_TRUE(object::status_cancelled(status));
    expect_nothing_kept();
  }
}

/// Also where the network still writes it.
TEST_F(AnnouncedTest, of_a_dead_rank_is_not_received) {
  receive(n);
  send();
  turns();
  shm::mark_dead(*job.jobs[1], {0, 1}, "it was killed");
  look_for_dead(to, {});
  ASSERT_TRUE(is_done(receiving));
  EXPECT_EQ(wait(&receiving, MPI_STATUS_IGNORE).cls, MPI_ERR_PROC_ABORTED);
  let_in();
}

TEST_F(AnnouncedTest, of_a_dead_rank_is_kept_while_the_network_writes_it) {
  send();
  turns();
  shm::mark_dead(*job.jobs[1], {0, 1}, "it was killed");
  look_for_dead(to, {});
  EXPECT_EQ(to.matcher.first_arrived(), nullptr);
  EXPECT_EQ(to.unexpected_bytes, n) << "the network still writes it";
  let_in();
  expect_nothing_kept();
}

}  // namespace
}  // namespace weft::pt2pt
