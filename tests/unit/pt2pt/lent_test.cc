// SPDX-License-Identifier: Apache-2.0
//
// Messages to another node whose pieces leave from where they lie.
#include <utility>

#include "unit/pt2pt/one_way.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t most = Packet::most;

/// Without asking, whatever the size.
struct Lent : OneWay {
  Lent() : OneWay(3 * most) {
    network.lends = true;
    from.eager_max = 3 * most;
  }
};

TEST_F(Lent, takes_no_copy_of_the_sender) {
  for (const std::int64_t n : {most / 2, most, most + 1, 3 * most - 5}) {
    std::fill(in.begin(), in.end(), std::byte{0});
    const std::uint64_t copied = job.ranks[0]->counters.bytes_copied;
    receive(n);
    send(n);
    turns();
    ASSERT_TRUE(is_done(receiving));
    ASSERT_TRUE(is_done(sending));
    EXPECT_FALSE(wait(&sending, MPI_STATUS_IGNORE));
    EXPECT_FALSE(wait(&receiving, MPI_STATUS_IGNORE));
    EXPECT_TRUE(is_there(n)) << n;
    EXPECT_EQ(job.ranks[0]->counters.bytes_copied, copied) << n;
  }
}

TEST_F(Lent, is_over_when_the_last_piece_has_left) {
  network.keeps_lent = true;
  receive(3 * most);
  send(3 * most);
  turns();
  EXPECT_TRUE(is_done(receiving));
  EXPECT_FALSE(is_done(sending));
  EXPECT_EQ(network.lent.size(), 3u);
  network.keeps_lent = false;
  turns();
  EXPECT_TRUE(is_done(sending));
  EXPECT_FALSE(wait(&sending, MPI_STATUS_IGNORE));
  EXPECT_FALSE(wait(&receiving, MPI_STATUS_IGNORE));
  EXPECT_TRUE(is_there(3 * most));
}

TEST_F(Lent, is_cancelled_before_or_after_it_has_left) {
  for (const auto& [n, has_left] : {std::pair(most, false), std::pair(most, true),
                                    std::pair(3 * most, false), std::pair(3 * most, true)}) {
    network.keeps_lent = !has_left;
    send(n);
    turns();
    ASSERT_FALSE(cancel(&sending));
    turns();
    if (!has_left) {
      EXPECT_FALSE(is_done(sending)) << "the network still reads it";
    }
    network.keeps_lent = false;
    turns();
    ASSERT_TRUE(is_done(sending));
    MPI_Status status;
    EXPECT_FALSE(wait(&sending, &status));
    EXPECT_TRUE(object::status_cancelled(status));
    expect_nothing_kept();
  }
}

}  // namespace
}  // namespace weft::pt2pt
