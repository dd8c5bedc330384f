// SPDX-License-Identifier: Apache-2.0
//
// A rank that holds too much of what nobody has asked for tells senders on other nodes to offer:
// two ranks in one thread, each doing one step at a time.
#include <gtest/gtest.h>

#include <vector>

#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t bytes = 10000, limit = 5 * bytes;
constexpr int many = 40;

TEST(HoldBack, senders_on_other_nodes_offer_until_half_of_it_is_free) {
  TestJob job(2, false, {}, 1, true);
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  from.eager_max = bytes;
  to.unexpected_max = limit;
  std::vector<std::vector<std::byte>> out;
  std::vector<MPI_Request> sends(many);
  const auto turn = [&] {
    progress(to);
    progress(from);
  };
  const auto send = [&](int i) {
    out.emplace_back(bytes, static_cast<std::byte>(i));
    ASSERT_FALSE(isend({out.back().data(), bytes, byte_type()}, 1, 1, job.ranks[0]->comm,
                       Mode::standard, &sends[static_cast<std::size_t>(i)]));
  };
  out.reserve(2 * many);
  for (int i = 0; i < many; ++i) {
    send(i);
    turn();
  }
  // One more came before the sender knew.
  EXPECT_LE(to.unexpected_bytes, limit + 2 * bytes);
  EXPECT_GT(to.unexpected_bytes, limit);
  EXPECT_GE(from.offers(), static_cast<std::size_t>(many) - 8);
  for (int i = 0; i < many; ++i) {
    std::vector<std::byte> in(bytes);
    MPI_Request receive = MPI_REQUEST_NULL;
    ASSERT_FALSE(irecv({in.data(), bytes, byte_type()}, 0, 1, job.ranks[1]->comm, &receive));
    for (int t = 0; t < 20; ++t) turn();
    ASSERT_TRUE(request_of(receive)->done) << i;
    EXPECT_FALSE(wait(&receive, MPI_STATUS_IGNORE));
    EXPECT_FALSE(wait(&sends[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE));
    EXPECT_EQ(in, out[static_cast<std::size_t>(i)]) << "in their order";
  }
  EXPECT_EQ(to.unexpected_bytes, 0);
  EXPECT_TRUE(to.held_back.empty());
  send(0);
  EXPECT_EQ(from.offers(), 0u) << "pushed again";
}

}  // namespace
}  // namespace weft::pt2pt
