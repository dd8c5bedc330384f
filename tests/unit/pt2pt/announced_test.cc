// SPDX-License-Identifier: Apache-2.0
//
// Messages to another node that follow their announcement by themselves.
#include "pt2pt/deaths.h"
#include "shm/deaths.h"
#include "unit/pt2pt/one_way.h"

namespace weft::pt2pt {
namespace {

/// What rank 1 has been told of comes once it is let in.
struct AnnouncedTest : OneWay {
  static constexpr std::int64_t n = 3 * Packet::most;

  AnnouncedTest() : OneWay(n) {
    network.lends = network.announces = there.holds_awaited = true;
    from.peer(1).announced_max = n;
  }
  void let_in() {
    EXPECT_EQ(there.awaited.size(), 1u);
    there.holds_awaited = false;
    turns();
    there.holds_awaited = true;
  }
};

TEST_F(AnnouncedTest, comes_into_the_receive_without_a_copy) {
  const std::uint64_t before = job.ranks[1]->counters.bytes_copied;
  receive(n);
  send(n);
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
    send(n);
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
  send(n);
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
    send(n);
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
  send(n);
  turns();
  shm::mark_dead(*job.jobs[1], {0, 1}, "it was killed");
  look_for_dead(to, {});
  ASSERT_TRUE(is_done(receiving));
  EXPECT_EQ(wait(&receiving, MPI_STATUS_IGNORE).cls, MPI_ERR_PROC_ABORTED);
  let_in();
}

TEST_F(AnnouncedTest, of_a_dead_rank_is_kept_while_the_network_writes_it) {
  send(n);
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
