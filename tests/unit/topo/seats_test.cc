// SPDX-License-Identifier: Apache-2.0
#include "topo/seats.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/cpus.h"
#include "topo/placement.h"

namespace weft::topo {
namespace {

// CPUs 0-7 in package 0, 8-15 in package 1; two caches each; cores 0,1 2,3 ...
constexpr const char* machine = "package:2 l3:2 core:2 pu:2";

Topology declared(const char* what) {
  Result<Topology> made = Topology::synthetic(what);
  EXPECT_TRUE(made);
  return made.value;
}

struct Job {
  const char* where = machine;
  int ranks = 1;
  int computing = 1;
  SeatWork work = SeatWork::memory;
  Placement place{};
  std::size_t ranks_per_thread = 1;
};

std::vector<Seat> seated(const char* wish, const Job& job) {
  const Topology topology = declared(job.where);
  const auto slices = place(topology, job.ranks, job.place);
  const auto wanted = seat_wish(wish);
  EXPECT_TRUE(slices);
  EXPECT_TRUE(wanted) << wish;
  return seats(topology.cores(), slices.value, job.computing, wanted.value, job.work,
               job.ranks_per_thread);
}

/// CPUs by rank; a star where somebody computes.
std::string lists(const char* wish, const Job& job) {
  std::string out;
  for (const Seat& seat : seated(wish, job)) {
    EXPECT_FALSE(seat.why.empty());
    out += (out.empty() ? "" : " ") + cpu_list(seat.cpus) + (seat.idle ? "" : "*");
  }
  return out;
}

TEST(Seats, DedicatedCoreIsTheNearestIdleOne) {
  // Slices of two cores: the second is idle.
  EXPECT_EQ(lists("dedicated-core", {.ranks = 4}), "2,3 6,7 10,11 14,15");
  // Slices of one core side by side: what nobody's slice has is idle, each core once.
  EXPECT_EQ(lists("dedicated-core", {.ranks = 3, .place = {.map = Unit::core, .bind = Unit::core}}),
            "14,15 12,13 6,7");  // of its cache for the last
  // Every core computes.
  EXPECT_EQ(lists("dedicated-core", {.ranks = 8}), "0* 2* 4* 6* 8* 10* 12* 14*");
  EXPECT_EQ(lists("dedicated-core", {.ranks = 4, .computing = 2}), "0* 4* 8* 12*");
}

TEST(Seats, LlcStaysInTheCache) {
  EXPECT_EQ(lists("llc", {.ranks = 4}), "2,3 6,7 10,11 14,15");
  const auto two = seated("llc", {.ranks = 3, .place = {.map = Unit::core, .bind = Unit::core}});
  // Ranks 0 and 1 fill the first cache; rank 2 has a neighbour.
  EXPECT_EQ(two[0].is, SeatName::same_core);
  EXPECT_NE(two[0].why.find("last-level cache"), std::string::npos);
  EXPECT_EQ(two[2].is, SeatName::llc);
  EXPECT_EQ(cpu_list(two[2].cpus), "6,7");
}

TEST(Seats, SiblingOfTheCoreThatComputes) {
  EXPECT_EQ(lists("smt", {.ranks = 8}), "1* 3* 5* 7* 9* 11* 13* 15*");
  EXPECT_EQ(seated("smt-sleep", {.ranks = 8})[0].is, SeatName::smt_sleep);
  // Two ranks on a core, and cores of one hardware thread: there is none.
  EXPECT_EQ(lists("smt", {.ranks = 16}), "0* 1* 2* 3* 4* 5* 6* 7* 8* 9* 10* 11* 12* 13* 14* 15*");
  EXPECT_EQ(seated("smt", {.ranks = 16})[0].is, SeatName::same_core);
  EXPECT_EQ(lists("smt", {.where = "core:4 pu:1", .ranks = 2}), "0* 2*");
  // Four hardware threads: three are left.
  EXPECT_EQ(lists("smt", {.where = "core:2 pu:4", .ranks = 2}), "1-3* 5-7*");
}

TEST(Seats, RanksThatShareAThread) {
  EXPECT_EQ(lists("dedicated-core", {.ranks = 4, .ranks_per_thread = 2}), "2,3 2,3 10,11 10,11");
  // Three idle cores are enough for eight ranks in groups of three: the other ranks take none.
  EXPECT_EQ(lists("dedicated-core", {.where = "core:11 pu:1",
                                     .ranks = 8,
                                     .place = {.map = Unit::core, .bind = Unit::core},
                                     .ranks_per_thread = 3}),
            "10 10 10 9 9 9 8 8");
  EXPECT_EQ(lists("3,9-10", {.ranks = 4, .ranks_per_thread = 2}), "3* 3* 9* 9*");
  EXPECT_EQ(lists("same-core", {.ranks = 4, .ranks_per_thread = SIZE_MAX}), "0* 0* 0* 0*");
}

TEST(Seats, SameCoreAndLists) {
  EXPECT_EQ(lists("same-core", {.ranks = 4}), "0* 4* 8* 12*");
  EXPECT_EQ(lists("3,9-10", {.ranks = 4}), "3* 9* 10* 3*");
}

TEST(Seats, AutoNeverPutsCopiesBesideComputation) {
  for (const char* where : {machine, "core:2 pu:2", "package:2 core:4 pu:4", "core:1 pu:1"})
    for (int ranks = 1; ranks <= 20; ++ranks)
      for (const Seat& seat : seated("auto", {.where = where, .ranks = ranks})) {
        EXPECT_EQ(seat.idle, seat.is == SeatName::dedicated_core) << where << " " << ranks;
        EXPECT_TRUE(seat.idle || seat.cpus.empty()) << where << " " << ranks;
      }
  EXPECT_EQ(lists("auto", {.ranks = 4}), "2,3 6,7 10,11 14,15");
  EXPECT_EQ(lists("auto", {.ranks = 8}), "* * * * * * * *");  // anywhere in the rank's
}

TEST(Seats, AutoPutsNetworkStepsOnASibling) {
  const Job full{.ranks = 8, .work = SeatWork::network};
  EXPECT_EQ(lists("auto", full), "1* 3* 5* 7* 9* 11* 13* 15*");
  EXPECT_EQ(seated("auto", full)[3].is, SeatName::smt_sleep);
  EXPECT_EQ(lists("auto", {.ranks = 4, .work = SeatWork::network}), "2,3 6,7 10,11 14,15");
}

TEST(Seats, RanksKnowThemFromTheJob) {
  const auto record = [](int ranks, bool several_nodes, const char* where = machine,
                         const SeatWish& memory = {}) {
    const Topology topology = declared(where);
    const auto slices = place(topology, ranks, {});
    const auto seats_for = [&](SeatWork work) {
      return seats(topology.cores(), slices.value, 1,
                   work == SeatWork::memory ? memory : SeatWish{}, work);
    };
    return seat_records(slices.value, seats_for(SeatWork::memory), seats_for(SeatWork::network),
                        several_nodes)[0];
  };
  const SeatRecord idle = record(4, true);
  EXPECT_EQ(cpu_list(idle.list()), "2,3");
  EXPECT_TRUE(idle.idle && idle.own && !idle.network_only);
  EXPECT_EQ(idle.cores, 2);
  // All cores compute: a hardware thread of its own core for the network, and for nothing else.
  EXPECT_EQ(record(8, false).count, 0);
  EXPECT_FALSE(record(8, false).network_only);
  EXPECT_EQ(cpu_list(record(8, true).list()), "1");
  EXPECT_TRUE(record(8, true).network_only);
  EXPECT_FALSE(record(4, true, "core:4 pu:1").network_only);
  // CPUs that somebody has listed.
  const SeatRecord listed = record(8, true, machine, {SeatName::listed, {5}});
  EXPECT_EQ(cpu_list(listed.list()), "5");
  EXPECT_FALSE(listed.network_only);
}

TEST(Seats, NoCoreHasTwoThreads) {
  for (const char* wish : {"auto", "dedicated-core", "llc"})
    for (int ranks = 1; ranks <= 16; ++ranks) {
      std::vector<int> all;
      for (const Seat& seat : seated(wish, {.ranks = ranks}))
        if (seat.idle) all.insert(all.end(), seat.cpus.begin(), seat.cpus.end());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << wish << ranks;
    }
}

TEST(Seats, WhatIsNoPlaceIsSaid) {
  for (const char* text :
       {"", "core", "3-", "3-1", "-1", "1,,2", "1 2", "99999999999", "smt,llc"}) {
    const auto wish = seat_wish(text);
    ASSERT_FALSE(wish) << text;
    EXPECT_NE(std::string(last_error_text(wish.err.cls)).find("dedicated-core"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::topo
