// SPDX-License-Identifier: Apache-2.0
//
// Which fragments pieces travel in: two ranks in one thread, each doing one step at a time.
#include <gtest/gtest.h>

#include <vector>

#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t piece = long_piece, short_piece = 1024;

struct Lending : testing::Test {
  // 40 fragments each, and everything up to 1 MiB is pushed.
  TestJob job{2,
              false,
              {{"WEFT_SHM_FRAGMENT_BYTES", "655360"},
               {"WEFT_SHM_RING_BYTES", "262144"},
               {"WEFT_PT2PT_EAGER_MAX", "1m"}}};
  std::vector<std::byte> out = std::vector<std::byte>(1 << 20),
                         in = std::vector<std::byte>(1 << 20);
  std::vector<MPI_Request> sends;

  Lending() {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  Engine& engine(int rank) { return job.ranks[static_cast<std::size_t>(rank)]->engine; }
  void send(int from, std::int64_t bytes) {
    sends.push_back(MPI_REQUEST_NULL);
    ASSERT_FALSE(isend({out.data(), bytes, byte_type()}, 1 - from, 0,
                       job.ranks[static_cast<std::size_t>(from)]->comm, Mode::standard,
                       &sends.back()));
  }
  void receive(int to, std::int64_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::fill(in.begin(), in.end(), std::byte{0});
    ASSERT_FALSE(irecv({in.data(), bytes, byte_type()}, 1 - to, 0,
                       job.ranks[static_cast<std::size_t>(to)]->comm, &request));
    for (int looks = 0; looks < 1000 && !request_of(request)->done; ++looks) {
      progress(engine(to));
      progress(engine(1 - to));
    }
    ASSERT_TRUE(request_of(request)->done);
    EXPECT_FALSE(wait(&request, MPI_STATUS_IGNORE));
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + bytes, in.begin()));
  }
  std::uint32_t lent(int rank) { return engine(rank).peer(1 - rank).lent; }
  ~Lending() override {
    for (MPI_Request& request : sends) EXPECT_FALSE(wait(&request, MPI_STATUS_IGNORE));
  }
};

TEST_F(Lending, an_answer_takes_the_fragment_home) {
  for (int i = 0; i < 100; ++i) {
    const std::int64_t bytes = i < 50 ? piece : short_piece;
    send(0, bytes);
    receive(1, bytes);
    EXPECT_EQ(lent(0), 1u);
    send(1, bytes);
    receive(0, bytes);
    EXPECT_EQ(lent(0), 0u);
    EXPECT_EQ(lent(1), 0u) << "it has answered in the other's";
  }
}

TEST_F(Lending, one_way_all_come_home_but_a_few) {
  for (int i = 0; i < 200; ++i) {
    send(0, piece);
    receive(1, piece);
  }
  EXPECT_GE(lent(0), 1u);
  EXPECT_LE(lent(0), shm::Borrowed::most + shm::Borrowed::in_a_notice);
}

TEST_F(Lending, what_is_short_goes_one_way_in_the_ring) {
  for (int i = 0; i < 200; ++i) {
    send(0, short_piece);
    receive(1, short_piece);
  }
  EXPECT_EQ(lent(0), 4u);
}

TEST_F(Lending, what_is_very_short_stays_in_the_ring) {
  for (int i = 0; i < 10; ++i) {
    send(0, 1023);
    receive(1, 1023);
  }
  EXPECT_EQ(lent(0), 0u);
}

TEST_F(Lending, more_than_there_are_fragments_waits_for_them) {
  for (int i = 0; i < 100; ++i) send(0, piece);
  EXPECT_EQ(lent(0), 40u);
  EXPECT_FALSE(engine(0).busy.empty()) << "the others wait";
  for (int i = 0; i < 100; ++i) receive(1, piece);
  EXPECT_TRUE(engine(0).busy.empty());
}

TEST_F(Lending, a_long_message_takes_them_more_than_once) {
  send(0, 1 << 20);
  receive(1, 1 << 20);
  send(1, 1 << 20);
  receive(0, 1 << 20);
}

TEST_F(Lending, whoever_is_short_of_them_gets_all_back) {
  // 1 has answered nothing for long and keeps some of 0's; these are not enough to wait for.
  for (int i = 0; i < 16; ++i) send(0, piece);
  for (int i = 0; i < 16; ++i) receive(1, piece);
  EXPECT_EQ(lent(0), 16u);
  while (engine(0).fragments.has_one()) engine(0).fragments.take();  // lent elsewhere
  send(0, piece);                                                    // in the ring
  EXPECT_TRUE(engine(0).busy.empty());
  receive(1, piece);
  progress(engine(0));
  EXPECT_EQ(lent(0), 0u);
}

TEST_F(Lending, far_from_its_reader_a_rank_writes_past_the_caches) {
  const auto is_far = [&] { return pt2pt::is_far(engine(0), engine(0).peer(1)); };
  const auto run = [&](double memory_line_ns) {
    engine(0).memory_line_ns = memory_line_ns;
    for (int i = 0; i < 200; ++i) {
      send(0, 2 * piece);
      receive(1, 2 * piece);
    }
  };
  run(1e-6);  // whatever a line takes is longer
  EXPECT_TRUE(is_far());
  run(1e6);
  EXPECT_FALSE(is_far());
}

TEST(LendingToMany, all_peers_together_keep_half_a_pool) {
  constexpr int ranks = 9;
  TestJob job(ranks, false,
              {{"WEFT_SHM_FRAGMENT_BYTES", "524288"},
               {"WEFT_SHM_RING_BYTES", "262144"},
               {"WEFT_PT2PT_EAGER_MAX", "1m"}});
  std::vector<std::byte> data(piece);
  Engine& to = job.ranks[0]->engine;
  for (int i = 0; i < 20; ++i)
    for (int from = 1; from < ranks; ++from) {
      TestRank& sender = *job.ranks[static_cast<std::size_t>(from)];
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_FALSE(
          isend({data.data(), piece, byte_type()}, 0, 0, sender.comm, Mode::standard, &request));
      progress(to);
      progress(sender.engine);
      ASSERT_FALSE(wait(&request, MPI_STATUS_IGNORE));
    }
  // 32 fragments, 8 lenders: 2 of each are kept, up to 7 are on no notice yet.
  for (int from = 1; from < ranks; ++from)
    EXPECT_LE(job.ranks[static_cast<std::size_t>(from)]->engine.peer(0).lent, 2u + 7u);
}

}  // namespace
}  // namespace weft::pt2pt
