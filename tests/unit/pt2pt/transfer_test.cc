// SPDX-License-Identifier: Apache-2.0
//
// Who copies a large message between ranks of one process: two ranks in one thread, each doing one
// step at a time, so that what the other does not do is known. Counted, not timed.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/clock.h"
#include "datatype/api.h"
#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t bytes = 300000;
// Of 10 chunks of 32 KiB, or 19 of 16 KiB, a side that is alone takes a quarter of the rest each
// time.
constexpr std::uint64_t far_copies = 8, near_copies = 11;

/// Rank 0 sends to rank 1.
struct Transfer : testing::Test {
  TestJob job{2, false};
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  Counters &sender = job.ranks[0]->counters, &receiver = job.ranks[1]->counters;
  std::vector<std::byte> out = std::vector<std::byte>(2 << 20),
                         in = std::vector<std::byte>(2 << 20);
  MPI_Request send_request = MPI_REQUEST_NULL, recv_request = MPI_REQUEST_NULL;

  Transfer() {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  /// Clear of what the machine is and of how fast it is just now.
  void place(bool far, bool patient) {
    Peer& peer = to.peer(0);
    peer.line_ns = far ? 1e6f : -1e6f;
    peer.copied_ns = patient ? now_ns() + std::int64_t{3600} * 1'000'000'000 : 0;
  }
  void start(std::int64_t n, const datatype::Type* type = byte_type(), int tag = 1) {
    ASSERT_FALSE(irecv({in.data(), n, type}, 0, tag, job.ranks[1]->comm, &recv_request));
    ASSERT_FALSE(
        isend({out.data(), n, type}, 1, tag, job.ranks[0]->comm, Mode::standard, &send_request));
  }
  static bool is_done(MPI_Request request) { return request_of(request)->done; }
  bool is_there(std::int64_t n) const {
    return std::equal(out.begin(), out.begin() + n, in.begin());
  }
  void end() {
    EXPECT_FALSE(wait(&send_request, MPI_STATUS_IGNORE));
    EXPECT_FALSE(wait(&recv_request, MPI_STATUS_IGNORE));
    EXPECT_EQ(from.offers(), 0u);
    EXPECT_TRUE(to.left.empty());
    EXPECT_TRUE(from.shown.empty());
  }
};

TEST_F(Transfer, sender_copies_all_of_it_between_far_cores) {
  place(true, true);
  start(bytes);
  progress(to);
  EXPECT_FALSE(to.left.empty());
  EXPECT_EQ(receiver.copies, 0u);
  progress(from);
  EXPECT_TRUE(is_done(send_request));  // without an answer
  EXPECT_EQ(sender.copies_helped, far_copies);
  progress(to);
  EXPECT_TRUE(is_done(recv_request));
  EXPECT_EQ(receiver.copies, 0u);
  EXPECT_TRUE(is_there(bytes));
  end();
}

TEST_F(Transfer, receiver_copies_at_once_between_near_cores) {
  place(false, true);
  start(bytes);
  progress(to);
  EXPECT_TRUE(is_done(recv_request));
  EXPECT_EQ(receiver.copies, near_copies);
  EXPECT_TRUE(is_there(bytes));
  end();
  EXPECT_EQ(sender.copies_helped, 0u);
}

TEST_F(Transfer, receiver_that_sends_too_leaves_the_copy_to_a_near_sender) {
  place(false, true);
  MPI_Request back = MPI_REQUEST_NULL;
  ASSERT_FALSE(isend({in.data() + bytes, bytes, byte_type()}, 0, 2, job.ranks[1]->comm,
                     Mode::standard, &back));
  start(bytes);
  progress(to);
  EXPECT_FALSE(to.left.empty());
  progress(from);
  EXPECT_EQ(sender.copies_helped, far_copies);
  ASSERT_FALSE(recv({out.data(), bytes, byte_type()}, 1, 2, job.ranks[0]->comm, MPI_STATUS_IGNORE));
  EXPECT_FALSE(wait(&back, MPI_STATUS_IGNORE));
  end();
}

TEST_F(Transfer, isend_copies_the_message_before) {
  place(true, true);
  start(bytes);
  progress(to);
  EXPECT_FALSE(wait(&send_request, MPI_STATUS_IGNORE));
  EXPECT_FALSE(wait(&recv_request, MPI_STATUS_IGNORE));
  start(bytes);
  progress(to);
  MPI_Request next = MPI_REQUEST_NULL;
  ASSERT_FALSE(
      isend({out.data(), 1 << 20, byte_type()}, 1, 2, job.ranks[0]->comm, Mode::standard, &next));
  EXPECT_TRUE(is_done(send_request));
  EXPECT_FALSE(is_done(next));
  ASSERT_FALSE(
      recv({in.data(), 1 << 20, byte_type()}, 0, 2, job.ranks[1]->comm, MPI_STATUS_IGNORE));
  EXPECT_FALSE(wait(&next, MPI_STATUS_IGNORE));
  end();
}

TEST_F(Transfer, both_copy_what_the_sender_waits_for) {
  place(true, true);
  P2p send;
  send.engine = &from;
  send.comm = &job.ranks[0]->comm;
  send.is_send = send.in_call = true;
  send.buffer = {out.data(), bytes, byte_type()};
  send.envelope = envelope_of(*send.comm, 1, Space::user);
  send.peer = 1;
  start_send(from, send);
  ASSERT_FALSE(irecv({in.data(), bytes, byte_type()}, 0, 1, job.ranks[1]->comm, &recv_request));
  progress(to);
  EXPECT_TRUE(is_done(recv_request));
  EXPECT_EQ(receiver.copies, far_copies);
  wait_for(send);
  end();
}

TEST_F(Transfer, receiver_copies_when_the_sender_does_not_come) {
  place(true, false);
  start(bytes);
  while (!is_done(recv_request)) progress(to);  // the sender computes
  EXPECT_EQ(receiver.copies, far_copies);
  EXPECT_TRUE(is_there(bytes));
  progress(from);  // hears of the buffer, and that all is there
  EXPECT_TRUE(is_done(send_request));
  EXPECT_EQ(sender.copies_helped, 0u);
  end();
}

TEST_F(Transfer, receiver_copies_the_rest_when_the_sender_stops) {
  place(true, false);
  start(bytes);
  progress(to);
  const wire::Cell* show = from.inbox.poll();
  ASSERT_NE(show, nullptr);
  on_show(from, *show);
  from.inbox.consume(*show);
  const bool begun_in_time = !to.left.empty() && copy_shown(from);
  while (!is_done(recv_request)) progress(to);
  EXPECT_EQ(receiver.copies, begun_in_time ? far_copies - 1 : far_copies);
  EXPECT_TRUE(is_there(bytes));
  end();
}

TEST_F(Transfer, sender_copies_between_layouts) {
  datatype::Context context;
  datatype::Type* type = nullptr;  // four of five bytes
  ASSERT_FALSE(datatype::create_vector(context, bytes / 4, 4, 5, *byte_type(), &type));
  datatype::commit(*type);
  place(true, true);
  ASSERT_FALSE(irecv({in.data(), 1, type}, 0, 1, job.ranks[1]->comm, &recv_request));
  ASSERT_FALSE(isend({out.data(), bytes, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard,
                     &send_request));
  progress(to);
  EXPECT_FALSE(to.left.empty());
  progress(from);
  EXPECT_EQ(sender.copies_helped, 1u);
  end();
  EXPECT_EQ(receiver.copies, 0u);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(in[i / 4 * 5 + i % 4], out[i]);
  datatype::release(*type);
}

TEST_F(Transfer, a_receiver_that_does_not_know_yet_takes_no_chunk_of_the_next_offer) {
  place(true, true);
  start(bytes);
  progress(to);
  progress(from);
  ASSERT_TRUE(is_done(send_request));
  const auto first = static_cast<P2p*>(request_of(send_request))->job;
  MPI_Request next = MPI_REQUEST_NULL;
  ASSERT_FALSE(
      isend({out.data() + 1, bytes, byte_type()}, 1, 2, job.ranks[0]->comm, Mode::standard, &next));
  ASSERT_EQ(static_cast<P2p*>(request_of(next))->job, first);
  const std::uint64_t before = from.inbox.job(first).next;
  place(true, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // out of patience
  check_left(to);
  EXPECT_EQ(from.inbox.job(first).next, before);
  EXPECT_EQ(receiver.copies, 0u);
  progress(to);
  EXPECT_TRUE(is_done(recv_request));
  EXPECT_TRUE(is_there(bytes));
  ASSERT_FALSE(recv({in.data(), bytes, byte_type()}, 0, 2, job.ranks[1]->comm, MPI_STATUS_IGNORE));
  EXPECT_TRUE(std::equal(in.begin(), in.begin() + bytes, out.begin() + 1));
  EXPECT_FALSE(wait(&next, MPI_STATUS_IGNORE));
  end();
}

}  // namespace
}  // namespace weft::pt2pt
