// SPDX-License-Identifier: Apache-2.0
//
// Slices on machines that nobody here has: every rank has CPUs, slices do not overlap while there
// are cores enough, and they stay inside one cache or memory domain where that is possible.
#include "topo/slices.h"

#include <gtest/gtest.h>

#include <set>

#include "base/cpus.h"

namespace weft::topo {
namespace {

Topology machine(const char* description) {
  Result<Topology> made = Topology::synthetic(description);
  EXPECT_TRUE(made) << description;
  return made.value;
}

int count_caches(const Topology& topology) {
  std::set<int> last_level;
  for (const Core& core : topology.cores()) last_level.insert(core.llc);
  return static_cast<int>(last_level.size());
}

std::vector<std::string> lists(const Topology& topology, int nranks) {
  std::vector<std::string> out;
  for (const Slice& slice : slices(topology, nranks)) out.push_back(cpu_list(slice.cpus()));
  return out;
}
using Lists = std::vector<std::string>;

TEST(Topology, ReadsASyntheticMachine) {
  const Topology t = machine("package:2 numa:2 l3:2 core:4 pu:2");
  EXPECT_EQ(t.cores().size(), 32u);
  EXPECT_EQ(t.cpus(), 64);
  EXPECT_EQ(count_caches(t), 8);
  EXPECT_EQ(t.numas(), 4);
  EXPECT_EQ(t.packages(), 2);
  EXPECT_EQ(t.near(0, 0), Near::core);
  EXPECT_EQ(t.near(0, 3), Near::llc);
  EXPECT_EQ(t.near(0, 4), Near::numa);
  EXPECT_EQ(t.near(0, 8), Near::package);
  EXPECT_EQ(t.near(0, 31), Near::machine);
  EXPECT_EQ(t.count_levels(),
            "Machine 1, Package 2, Group 4, NUMANode 4, L3Cache 8, Core 32, PU 64");
  EXPECT_NE(t.describe().find("Core 32, PU 64 (declared"), std::string::npos) << t.describe();
}

TEST(Topology, RefusesNonsense) {
  Result<Topology> made = Topology::synthetic("socks:2");
  ASSERT_FALSE(made);
  EXPECT_NE(std::string(last_error_text(made.err.cls)).find("socks:2"), std::string::npos);
}

TEST(Topology, ReadsThisNode) {
  Result<Topology> node = Topology::this_node();
  ASSERT_TRUE(node);
  EXPECT_GE(node.value.cpus(), 1);
  EXPECT_GE(node.value.cpus(), static_cast<int>(node.value.cores().size()));
}

TEST(Slices, DivideTheCores) {
  const Topology t = machine("package:1 l3:1 core:8 pu:1");
  EXPECT_EQ(lists(t, 1), (Lists{"0-7"}));
  EXPECT_EQ(lists(t, 2), (Lists{"0-3", "4-7"}));
  EXPECT_EQ(lists(t, 3), (Lists{"0,1", "2,3", "5,6"}));
  EXPECT_EQ(lists(t, 8), (Lists{"0", "1", "2", "3", "4", "5", "6", "7"}));
}

TEST(Slices, TakeWholeCoresWithTheirHardwareThreads) {
  const Topology t = machine("package:1 l3:1 core:4 pu:2");
  EXPECT_EQ(lists(t, 2), (Lists{"0-3", "4-7"}));
  EXPECT_EQ(slices(t, 2)[1].omp_places(), "{4,5,6,7}");
}

TEST(Slices, SpreadOverCachesAndStayInsideOne) {
  const Topology t = machine("package:1 l3:4 core:4 pu:1");
  EXPECT_EQ(lists(t, 2), (Lists{"0-7", "8-15"}));
  EXPECT_EQ(lists(t, 4), (Lists{"0-3", "4-7", "8-11", "12-15"}));
  // Slices of 3 cores: one per cache, not 0-2 3-5 6-8 9-11.
  EXPECT_EQ(lists(t, 5),
            (Lists{"0-2", "3-5", "6-8", "9-11", "12-14"}));  // 5 do not fit in 4 caches
  EXPECT_EQ(lists(machine("package:1 l3:4 core:5 pu:1"), 4),
            (Lists{"0-4", "5-9", "10-14", "15-19"}));
}

TEST(Slices, NeverOverlapAndFitWhereTheyCan) {
  for (const char* description :
       {"package:2 numa:1 l3:2 core:6 pu:2", "package:2 numa:2 l3:3 core:5 pu:1",
        "package:1 l3:3 core:7 pu:2", "numa:4 core:3 pu:1", "core:5 pu:1"}) {
    const Topology t = machine(description);
    const int ncores = static_cast<int>(t.cores().size());
    for (int n = 1; n <= ncores; ++n) {
      const std::vector<Slice> all = slices(t, n);
      ASSERT_EQ(static_cast<int>(all.size()), n) << description;
      std::set<int> used;
      int crossing = 0;
      for (const Slice& slice : all) {
        ASSERT_EQ(static_cast<int>(slice.places.size()), ncores / n) << description;
        std::set<int> caches;
        for (const std::vector<int>& place : slice.places)
          for (const Core& core : t.cores())
            if (core.cpus == place) caches.insert(core.llc);
        crossing += caches.size() > 1;
        for (int cpu : slice.cpus())
          ASSERT_TRUE(used.insert(cpu).second) << description << ", " << n << " ranks";
      }
      const int ncaches = count_caches(t);
      const int per_cache = ncores / ncaches / (ncores / n);
      if (per_cache * ncaches >= n) {
        EXPECT_EQ(crossing, 0) << description << ", " << n << " ranks";
      }
    }
  }
}

TEST(Slices, ShareCoresInTurnWhenRanksAreMore) {
  const Topology t = machine("package:1 l3:1 core:2 pu:1");
  EXPECT_EQ(lists(t, 3), (Lists{"0", "1", "1"}));
  EXPECT_EQ(lists(t, 4), (Lists{"0", "0", "1", "1"}));
  EXPECT_EQ(lists(t, 8), (Lists{"0", "0", "0", "0", "1", "1", "1", "1"}));
}

TEST(Slices, UseHardwareThreadsBeforeSharing) {
  const Topology t = machine("package:1 l3:1 core:2 pu:2");
  EXPECT_EQ(lists(t, 4), (Lists{"0", "1", "2", "3"}));
  EXPECT_EQ(lists(t, 3), (Lists{"0,1", "2", "3"}));
  EXPECT_EQ(lists(t, 8), (Lists{"0", "0", "1", "1", "2", "2", "3", "3"}));
}

TEST(Slices, AreBalancedForAnyNumberOfRanks) {
  const Topology t = machine("package:2 l3:1 core:5 pu:1");
  for (int n = 11; n <= 300; ++n) {
    std::vector<int> ranks(10, 0);
    int last = 0;
    for (const Slice& slice : slices(t, n)) {
      ASSERT_EQ(slice.cpus().size(), 1u);
      ASSERT_GE(slice.cpus()[0], last);  // consecutive ranks are neighbours
      last = slice.cpus()[0];
      ++ranks[static_cast<std::size_t>(last)];
    }
    for (int count : ranks) EXPECT_TRUE(count == n / 10 || count == n / 10 + 1) << n;
  }
}

}  // namespace
}  // namespace weft::topo
