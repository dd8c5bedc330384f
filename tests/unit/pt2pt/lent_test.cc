// SPDX-License-Identifier: Apache-2.0
//
// Messages to another node whose pieces leave from where they lie: two ranks in one thread, each
// doing one step at a time.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "datatype/api.h"
#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t most = Packet::most;

/// Rank 0 sends to rank 1, without asking whatever the size.
struct Lent : testing::Test {
  TestJob job{2, false, {}, 1, true};
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  TestNetwork& network = static_cast<TestNetwork&>(*from.network);
  std::vector<std::byte> out = std::vector<std::byte>(3 * most),
                         in = std::vector<std::byte>(3 * most);
  MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;

  Lent() {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
    network.lends = true;
    from.eager_max = 3 * most;
  }
  void send(std::int64_t n) {
    ASSERT_FALSE(
        isend({out.data(), n, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard, &sending));
  }
  void receive(std::int64_t n) {
    ASSERT_FALSE(irecv({in.data(), n, byte_type()}, 0, 1, job.ranks[1]->comm, &receiving));
  }
  void turns() {
    for (int i = 0; i < 20; ++i) {
      progress(to);
      progress(from);
    }
  }
  bool is_done(MPI_Request request) { return request_of(request)->done; }
  bool is_there(std::int64_t n) const {
    return std::equal(out.begin(), out.begin() + n, in.begin());
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
    EXPECT_EQ(to.matcher.first_arrived(), nullptr);
    EXPECT_EQ(to.unexpected_bytes, 0);
  }
}

}  // namespace
}  // namespace weft::pt2pt
