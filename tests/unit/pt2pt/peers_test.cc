// SPDX-License-Identifier: Apache-2.0
//
// What an engine has of each other rank of its job: a place, and a Peer of those that it speaks to.
#include <gtest/gtest.h>

#include "pt2pt/engine.h"
#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

TEST(Peers, AreThereOnceOneSpeaksToThem) {
  TestJob job(4, false);
  Engine& e = job.ranks[0]->engine;
  EXPECT_TRUE(e.peers.all().empty());
  EXPECT_EQ(e.peers.find(3), nullptr);
  Peer& third = e.peer(3);
  EXPECT_EQ(&e.peer(3), &third);
  EXPECT_EQ(e.peers.find(3), &third);
  EXPECT_EQ(third.world_rank, 3);
  EXPECT_EQ(e.peers.all().size(), 1u);
  for (int i = 0; i < 2; ++i) e.peer(1);
  EXPECT_EQ(&e.peer(3), &third);  // it stays where it is
  EXPECT_EQ(e.peers.all().size(), 2u);
}

TEST(Peers, HaveTheNextRankOfAPlace) {
  setenv("WEFT_SPAWN_PLACES", "2", 1);
  TestJob job(2, false);
  unsetenv("WEFT_SPAWN_PLACES");
  memory::Job& memory = *job.jobs[0];
  Engine& e = job.ranks[0]->engine;
  memory.occupy({2, 1});
  e.meet({2});
  EXPECT_EQ(e.peers.find(2), nullptr);  // it has only been met
  EXPECT_EQ(e.incarnation(2), 0u);
  Peer& first = e.peer(2);
  first.received = 7;
  EXPECT_TRUE(first.is_foreign);
  e.meet({2});
  EXPECT_EQ(first.received, 7u);
  memory.occupy({2, 1});
  e.meet({2});
  EXPECT_EQ(e.incarnation(2), 1u);
  EXPECT_EQ(&e.peer(2), &first);
  EXPECT_EQ(first.received, 0u);
  EXPECT_TRUE(first.lane.is_open() && first.is_foreign);
  EXPECT_EQ(e.peers.all().size(), 1u);
}

TEST(Peers, RanksOfTheOwnWorldStay) {
  TestJob job(2, false);
  Engine& e = job.ranks[0]->engine;
  e.peer(1).received = 7;
  job.jobs[0]->entry(1).incarnation = 3;  // of a spawned world: as it began
  e.meet({1});
  EXPECT_EQ(e.peer(1).received, 7u);
}

}  // namespace
}  // namespace weft::pt2pt
