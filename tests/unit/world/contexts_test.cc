// SPDX-License-Identifier: Apache-2.0
// Which communication context a communicator's messages go to: the same one at all members.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "object/info.h"
#include "pt2pt/completion.h"
#include "unit/world/ranks.h"
#include "world/comms.h"

namespace weft::world {
namespace {

constexpr int ranks = 3, comms = 8;

/// As an entry point does.
Comm& duplicate(Rank& rank, const Info* info = nullptr) {
  const pt2pt::Inside inside(rank.engine);
  MPI_Comm handle = MPI_COMM_NULL;
  Comm& world = *rank.store.comm_world;
  EXPECT_FALSE(info != nullptr ? comm_dup_with_info(world, info, &handle)
                               : comm_dup(world, &handle));
  return *rank.store.comm(handle);
}

void free(Comm& comm) {
  MPI_Comm handle = object::handle_of(comm);
  EXPECT_FALSE(comm_free(comm, &handle));
}

TEST(Contexts, CommunicatorsTakeTurns) {
  std::array<std::array<int, comms>, ranks> seen{};
  run_ranks(
      ranks,
      [&](Rank& rank) {
        EXPECT_EQ(rank.store.comm_world->engine, &rank.engine);
        for (int i = 0; i < comms; ++i) {
          Comm& comm = duplicate(rank);
          seen[static_cast<std::size_t>(rank.world_rank)][static_cast<std::size_t>(i)] =
              comm.engine->context;
          EXPECT_FALSE(comm.by_tag);
          free(comm);
        }
      },
      MPI_THREAD_MULTIPLE);
  for (const auto& at_rank : seen) {
    EXPECT_EQ(at_rank, seen[0]);
    EXPECT_EQ(std::set<int>(at_rank.begin(), at_rank.end()).size(), std::size_t{comms});
  }
}

TEST(Contexts, OneMemberWithoutThreadsKeepsThemInTheFirst) {
  run_ranks_at(
      ranks,
      [&](Rank& rank) {
        EXPECT_EQ(rank.contexts.several(), rank.world_rank != 1);
        for (int i = 0; i < comms; ++i) {
          Comm& comm = duplicate(rank);
          EXPECT_EQ(comm.engine, &rank.engine);
          free(comm);
        }
      },
      [](int rank) { return rank == 1 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE; });
}

TEST(Contexts, TagsChooseThemOnlyIfAllMembersPromiseToNameThem) {
  run_ranks(
      ranks,
      [&](Rank& rank) {
        Info yes, no;
        ASSERT_FALSE(object::info_set(yes, "mpi_assert_no_any_tag", "true"));
        Comm& all = duplicate(rank, &yes);
        Comm& some = duplicate(rank, rank.world_rank == 1 ? &no : &yes);
        EXPECT_TRUE(all.by_tag);
        EXPECT_FALSE(some.by_tag);
        std::set<pt2pt::Engine*> near, far, one;
        for (int tag = 0; tag < comms; ++tag) {
          near.insert(&pt2pt::engine_for(all, 96 + tag));
          far.insert(&pt2pt::engine_for(all, 1024 * tag));
          one.insert(&pt2pt::engine_for(some, tag));
        }
        EXPECT_EQ(near.size(), std::size_t{comms});
        EXPECT_EQ(far.size(), std::size_t{comms});
        EXPECT_EQ(one.size(), 1U);
        free(all);
        free(some);
      },
      MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace weft::world
