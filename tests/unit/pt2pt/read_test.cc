// SPDX-License-Identifier: Apache-2.0
//
// Large messages between nodes that the receiver reads from the sender's memory: two ranks in one
// thread, each doing one step at a time.
#include <gtest/gtest.h>

#include <vector>

#include "datatype/api.h"
#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t bytes = 300000;

/// Rank 0 sends to rank 1.
struct Read : testing::Test {
  TestJob job{2, false, {}, 1, true};
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  const Counters& receiver = job.ranks[1]->counters;
  TestNetwork& network_of(Engine& e) { return static_cast<TestNetwork&>(*e.network); }
  std::vector<std::byte> out = std::vector<std::byte>(bytes), in = std::vector<std::byte>(bytes);
  MPI_Request send_request = MPI_REQUEST_NULL, recv_request = MPI_REQUEST_NULL;

  Read() {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
    network_of(from).reaches_memory = network_of(to).reaches_memory = true;
  }
  void send(Mode mode = Mode::standard, std::int64_t n = bytes) {
    ASSERT_FALSE(
        isend({out.data(), n, byte_type()}, 1, 1, job.ranks[0]->comm, mode, &send_request));
  }
  void receive(std::int64_t n = bytes) {
    ASSERT_FALSE(irecv({in.data(), n, byte_type()}, 0, 1, job.ranks[1]->comm, &recv_request));
  }
  void turns() {
    for (int i = 0; i < 100; ++i) {
      progress(to);
      progress(from);
    }
  }
  bool is_there(std::int64_t n) const {
    return std::equal(out.begin(), out.begin() + n, in.begin());
  }
  /// Both are over, nothing is kept, and nothing can be read any more.
  void end(Err expected = ok) {
    turns();
    ASSERT_TRUE(request_of(send_request)->done);
    ASSERT_TRUE(request_of(recv_request)->done);
    EXPECT_FALSE(wait(&send_request, MPI_STATUS_IGNORE));
    EXPECT_EQ(wait(&recv_request, MPI_STATUS_IGNORE).cls, expected.cls);
    EXPECT_EQ(from.offers(), 0u);
    EXPECT_TRUE(network_of(from).shown.empty());
    EXPECT_EQ(to.arrived.live(), 0u);
    EXPECT_TRUE(to.network->is_idle());
  }
};

TEST_F(Read, takes_no_copy_of_either_rank) {
  for (const bool early : {true, false}) {
    if (early) receive();
    send();
    EXPECT_EQ(network_of(from).shown.size(), 1u);
    if (!early) {
      progress(to);
      receive();
    }
    end();
    EXPECT_TRUE(is_there(bytes));
    std::fill(in.begin(), in.end(), std::byte{0});
  }
  EXPECT_EQ(receiver.net_reads, 2u);
  EXPECT_EQ(receiver.net_read_bytes, 2u * bytes);
  EXPECT_EQ(receiver.bytes_copied, 0u);
  EXPECT_EQ(job.ranks[0]->counters.bytes_copied, 0u);
}

/// A rank that sends them one after the other answers in between: it may compute before it waits.
TEST_F(Read, goes_on_with_the_next_send_of_a_row) {
  receive();
  send();
  for (int i = 0; i < 10; ++i) progress(to);  // read, and told
  MPI_Request first = send_request;
  EXPECT_FALSE(request_of(first)->done);
  send();
  EXPECT_TRUE(request_of(first)->done);
  EXPECT_FALSE(wait(&first, MPI_STATUS_IGNORE));
  EXPECT_FALSE(wait(&recv_request, MPI_STATUS_IGNORE));
  receive();
  end();
}

TEST_F(Read, a_synchronous_send_of_any_length) {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{100}}) {
    send(Mode::synchronous, n);
    EXPECT_EQ(network_of(from).shown.size(), n > 0 ? 1u : 0u);
    turns();
    EXPECT_FALSE(request_of(send_request)->done);
    receive();
    end();
    EXPECT_TRUE(is_there(n));
  }
  EXPECT_EQ(receiver.net_reads, 2u);
}

TEST_F(Read, no_more_than_the_receive_has_room_for) {
  constexpr std::int64_t room = 70000;
  receive(room);
  send();
  end(Err{MPI_ERR_TRUNCATE});
  EXPECT_TRUE(is_there(room));
  EXPECT_TRUE(
      std::all_of(in.begin() + room, in.end(), [](std::byte b) { return b == std::byte{}; }));
  EXPECT_EQ(receiver.net_read_bytes, static_cast<std::uint64_t>(room));
}

TEST_F(Read, is_pushed_where_memory_is_not_reached) {
  for (const bool by_sender : {true, false}) {
    network_of(from).reaches_memory = !by_sender;
    network_of(to).refuses_reads = !by_sender;
    receive();
    send();
    end();
    EXPECT_TRUE(is_there(bytes));
    std::fill(in.begin(), in.end(), std::byte{0});
  }
  EXPECT_EQ(receiver.net_reads, 0u);
}

TEST_F(Read, of_a_message_taken_by_a_matched_probe) {
  MPI_Message message = MPI_MESSAGE_NULL;
  int found = 0;
  send();
  ASSERT_FALSE(improbe(0, 1, job.ranks[1]->comm, &found, &message, MPI_STATUS_IGNORE));
  ASSERT_EQ(found, 1);
  ASSERT_FALSE(imrecv(to, {in.data(), bytes, byte_type()}, &message, &recv_request));
  end();
  EXPECT_TRUE(is_there(bytes));
  EXPECT_EQ(receiver.net_reads, 1u);
}

TEST_F(Read, a_cancelled_send_is_shown_no_longer) {
  MPI_Status status;
  for (const bool matched : {false, true}) {
    send();
    if (matched) {
      receive();
      progress(to);
    }
    ASSERT_FALSE(cancel(&send_request));
    turns();
    ASSERT_TRUE(request_of(send_request)->done);
    EXPECT_FALSE(wait(&send_request, &status));
    EXPECT_EQ(object::status_cancelled(status), !matched);
    EXPECT_TRUE(network_of(from).shown.empty());
    EXPECT_EQ(from.offers(), 0u);
  }
  EXPECT_FALSE(wait(&recv_request, MPI_STATUS_IGNORE));
  EXPECT_TRUE(is_there(bytes));
}

}  // namespace
}  // namespace weft::pt2pt
