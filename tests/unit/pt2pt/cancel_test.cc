// SPDX-License-Identifier: Apache-2.0
//
// Cancelling a send whose message is pushed, in whole or in part, or offered, on one node or two:
// two ranks in one thread, each doing one step at a time, so that what the receiver knows is known.
#include <gtest/gtest.h>

#include <vector>

#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t pieces = 10000, past_ring = 100000;  // the ring has 32 KiB

/// Rank 0 sends to rank 1, without asking whatever the size.
struct Cancel : testing::Test {
  TestJob job;
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  std::vector<std::byte> out = std::vector<std::byte>(past_ring),
                         in = std::vector<std::byte>(past_ring);
  MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;

  explicit Cancel(bool apart = false) : job(2, false, {}, 1, apart) { from.eager_max = past_ring; }
  void send_one(std::int64_t n, int mark, MPI_Request* request) {
    std::fill(out.begin(), out.end(), static_cast<std::byte>(mark));
    ASSERT_FALSE(
        isend({out.data(), n, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard, request));
  }
  void receive_one(std::int64_t n) {
    ASSERT_FALSE(irecv({in.data(), n, byte_type()}, 0, 1, job.ranks[1]->comm, &receiving));
  }
  bool is_there(std::int64_t n, int mark) const {
    return std::all_of(in.begin(), in.begin() + n,
                       [mark](std::byte b) { return b == static_cast<std::byte>(mark); });
  }
  void turns() {
    for (int i = 0; i < 10; ++i) {
      progress(to);
      progress(from);
    }
  }
  /// -1: it is not over.
  static int cancelled(MPI_Request* request) {
    MPI_Status status;
    if (!request_of(*request)->done) return -1;
    EXPECT_FALSE(wait(request, &status));
    return object::status_cancelled(status) ? 1 : 0;
  }
  void expect_nothing_kept() {
    EXPECT_EQ(to.matcher.first_arrived(), nullptr);
    EXPECT_EQ(to.unexpected_bytes, 0);
    EXPECT_EQ(to.arrived.live(), 0u);
    EXPECT_EQ(from.requests.live(), 1u);  // the shared completed one
    EXPECT_TRUE(from.busy.empty());
    EXPECT_TRUE(to.busy.empty());
  }
};

TEST_F(Cancel, takes_back_what_no_receive_has_matched) {
  to.unexpected_max = pieces - 1;
  for (const bool seen : {false, true}) {
    send_one(pieces, 1, &sending);
    if (seen) {
      progress(to);
      EXPECT_EQ(to.unexpected_bytes, pieces);
      EXPECT_TRUE(from.peer(1).lane.asks_first());
    }
    EXPECT_TRUE(request_of(sending)->done);
    ASSERT_FALSE(cancel(&sending));
    EXPECT_FALSE(request_of(sending)->done);  // which the receiver decides
    ASSERT_FALSE(cancel(&sending));           // once is enough
    turns();
    EXPECT_EQ(cancelled(&sending), 1);
    EXPECT_FALSE(from.peer(1).lane.asks_first());
    expect_nothing_kept();
  }
}

TEST_F(Cancel, leaves_what_a_receive_has_matched) {
  for (const bool early : {false, true}) {
    if (early) receive_one(pieces);
    send_one(pieces, 2, &sending);
    if (!early) receive_one(pieces);
    progress(to);
    ASSERT_FALSE(cancel(&sending));
    turns();
    EXPECT_EQ(cancelled(&sending), 0);
    EXPECT_EQ(cancelled(&receiving), 0);
    EXPECT_TRUE(is_there(pieces, 2));
    expect_nothing_kept();
  }
}

TEST_F(Cancel, leaves_what_a_matched_probe_has_taken) {
  object::Comm& comm = job.ranks[1]->comm;
  MPI_Message message = MPI_MESSAGE_NULL;
  int found = 0;
  send_one(pieces, 3, &sending);
  ASSERT_FALSE(improbe(0, 1, comm, &found, &message, MPI_STATUS_IGNORE));
  ASSERT_EQ(found, 1);
  ASSERT_FALSE(cancel(&sending));
  turns();
  EXPECT_EQ(cancelled(&sending), 0);
  ASSERT_FALSE(mrecv({in.data(), pieces, byte_type()}, &message, MPI_STATUS_IGNORE));
  EXPECT_TRUE(is_there(pieces, 3));
  expect_nothing_kept();
}

TEST_F(Cancel, takes_back_what_is_partly_pushed_and_leaves_the_next) {
  MPI_Request next;
  send_one(past_ring, 4, &sending);
  std::vector<std::byte> small(1, std::byte{5});
  ASSERT_FALSE(
      isend({small.data(), 1, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard, &next));
  EXPECT_FALSE(request_of(sending)->done);
  ASSERT_FALSE(cancel(&sending));
  turns();
  EXPECT_EQ(cancelled(&sending), 1);
  receive_one(past_ring);
  turns();
  EXPECT_EQ(cancelled(&receiving), 0);
  EXPECT_EQ(cancelled(&next), 0);
  EXPECT_TRUE(is_there(1, 5));
  expect_nothing_kept();
}

TEST_F(Cancel, leaves_what_is_partly_received) {
  for (const bool kept : {false, true}) {
    if (!kept) receive_one(past_ring);
    send_one(past_ring, 6, &sending);
    progress(to);  // the first pieces
    if (kept) receive_one(past_ring);
    ASSERT_FALSE(cancel(&sending));
    turns();
    EXPECT_EQ(cancelled(&sending), 0);
    EXPECT_EQ(cancelled(&receiving), 0);
    EXPECT_TRUE(is_there(past_ring, 6));
    expect_nothing_kept();
  }
}

TEST_F(Cancel, takes_back_the_named_one_of_several) {
  MPI_Request sends[3];
  for (int i = 0; i < 3; ++i) send_one(pieces, i, &sends[i]);
  ASSERT_FALSE(cancel(&sends[1]));
  turns();
  for (const int i : {0, 2}) {
    receive_one(pieces);
    EXPECT_EQ(cancelled(&receiving), 0);
    EXPECT_TRUE(is_there(pieces, i));
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cancelled(&sends[i]), i == 1);
  expect_nothing_kept();
}

TEST_F(Cancel, ends_a_request_that_the_user_has_freed) {
  for (const std::int64_t n : {pieces, past_ring}) {
    send_one(n, 7, &sending);
    ASSERT_FALSE(cancel(&sending));
    ASSERT_FALSE(request_free(&sending));
    EXPECT_EQ(from.requests.live(), 2u);
    turns();
    expect_nothing_kept();
    EXPECT_EQ(job.ranks[0]->comm.refs, 1);
  }
}

TEST_F(Cancel, leaves_a_persistent_send_that_starts_again) {
  ASSERT_FALSE(send_init({out.data(), pieces, byte_type()}, 1, 1, job.ranks[0]->comm,
                         Mode::standard, &sending));
  for (const int round : {0, 1, 2, 3}) {
    std::fill(out.begin(), out.end(), static_cast<std::byte>(round));
    ASSERT_FALSE(start(&sending));
    const bool takes_back = round % 2 == 0;
    if (takes_back) {
      ASSERT_FALSE(cancel(&sending));
    } else {
      receive_one(pieces);
    }
    turns();
    EXPECT_EQ(cancelled(&sending), takes_back ? 1 : 0);
    if (takes_back) continue;
    EXPECT_EQ(cancelled(&receiving), 0);
    EXPECT_TRUE(is_there(pieces, round));
  }
  ASSERT_FALSE(cancel(&sending));  // inactive: nothing to cancel
  ASSERT_FALSE(request_free(&sending));
  expect_nothing_kept();
}

/// The ring's last cell goes to the last piece, so the question itself has to wait for room.
TEST_F(Cancel, asks_when_there_is_room) {
  const std::int64_t twice_the_ring = 64 << 10;
  TestJob small(2, false, {{"WEFT_SHM_RING_CELLS", "8"}, {"WEFT_SHM_FRAGMENT_BYTES", "0"}});
  Engine &sender = small.ranks[0]->engine, &receiver = small.ranks[1]->engine;
  sender.eager_max = twice_the_ring;
  ASSERT_FALSE(isend({out.data(), twice_the_ring, byte_type()}, 1, 1, small.ranks[0]->comm,
                     Mode::standard, &sending));
  ASSERT_FALSE(cancel(&sending));
  for (int i = 0; i < 10; ++i) {
    progress(receiver);
    progress(sender);
  }
  EXPECT_EQ(cancelled(&sending), 1);
  EXPECT_TRUE(sender.busy.empty());
}

TEST_F(Cancel, leaves_a_message_of_one_piece) {
  send_one(100, 8, &sending);
  ASSERT_FALSE(cancel(&sending));
  EXPECT_EQ(cancelled(&sending), 0);
  receive_one(100);
  turns();
  EXPECT_EQ(cancelled(&receiving), 0);
  EXPECT_TRUE(is_there(100, 8));
  expect_nothing_kept();
}

/// Rank 0 asks first.
struct CancelOffer : Cancel, testing::WithParamInterface<bool> {
  CancelOffer() : Cancel(GetParam()) {
    from.eager_max = 0;
    from.peer(1).eager_max = 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Nodes, CancelOffer, testing::Bool(), [](const auto& info) {
  return info.param ? "on_other_nodes" : "on_one_node";
});

TEST_P(CancelOffer, takes_back_what_no_receive_has_matched) {
  for (const bool seen : {false, true}) {
    send_one(past_ring, 1, &sending);
    if (seen) progress(to);
    ASSERT_FALSE(cancel(&sending));
    ASSERT_FALSE(cancel(&sending));
    turns();
    EXPECT_EQ(cancelled(&sending), 1);
    EXPECT_EQ(from.offers(), 0u);
    expect_nothing_kept();
  }
}

TEST_P(CancelOffer, leaves_what_a_receive_has_matched) {
  for (const std::int64_t n : {std::int64_t{0}, pieces, past_ring})
    for (const int steps : {0, 1, 2}) {
      receive_one(n);
      send_one(n, 2, &sending);
      progress(to);
      for (int i = 0; i < steps; ++i) progress(i == 0 ? from : to);
      ASSERT_FALSE(cancel(&sending));
      turns();
      EXPECT_EQ(cancelled(&sending), 0);
      EXPECT_EQ(cancelled(&receiving), 0);
      EXPECT_TRUE(is_there(n, 2));
      EXPECT_EQ(from.offers(), 0u);
      expect_nothing_kept();
    }
}

TEST_P(CancelOffer, leaves_or_takes_back_what_is_matched_meanwhile) {
  send_one(past_ring, 3, &sending);
  ASSERT_FALSE(cancel(&sending));
  receive_one(past_ring);
  turns();
  if (cancelled(&sending) == 0) {
    EXPECT_EQ(cancelled(&receiving), 0);
    EXPECT_TRUE(is_there(past_ring, 3));
  } else {
    EXPECT_EQ(cancelled(&receiving), -1);
    ASSERT_FALSE(cancel(&receiving));
    EXPECT_EQ(cancelled(&receiving), 1);
  }
  EXPECT_EQ(from.offers(), 0u);
  expect_nothing_kept();
}

}  // namespace
}  // namespace weft::pt2pt
