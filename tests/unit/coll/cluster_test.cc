// SPDX-License-Identifier: Apache-2.0
//
// Declared clusters: which links messages take, what replays cost where it is known by hand, and
// what they count.
#include "coll/cluster/simulate.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "coll/walk.h"

namespace weft::coll {
namespace {

const model::Network network{.latency = 12e-6, .gap = 3e-6, .line = 64e-9};

Declared declared(int nodes, int each, const char* fabric = "full") {
  model::Machine node = model::machine_across(1, each, network);
  node.nodes = 1;
  std::string why;
  auto found = Fabric::parse(fabric, nodes, &why);
  EXPECT_TRUE(found) << why;
  return {.nodes = nodes, .node = node, .network = network, .fabric = *found};
}

Simulated simulated(const Declared& cluster, Call call, const char* way, std::int64_t bytes) {
  return simulate(cluster, *find_way(call, way), call, bytes);
}

TEST(Fabric, UnderstandsOrSays) {
  std::string why;
  EXPECT_TRUE(Fabric::parse("full", 9, &why));
  EXPECT_TRUE(Fabric::parse("fat-tree", 9, &why));
  EXPECT_TRUE(Fabric::parse("fat-tree:radix=8,taper=2", 999, &why));
  EXPECT_TRUE(Fabric::parse("dragonfly:radix=16", 1000, &why));
  for (const char* bad :
       {"", "torus", "full:radix=3", "fat-tree:radix=3", "fat-tree:radix", "fat-tree:ports=8",
        "fat-tree:radix=8,taper=9", "dragonfly:taper=2", "dragonfly:radix=4"}) {
    why.clear();
    EXPECT_FALSE(Fabric::parse(bad, 1000, &why)) << bad;
    EXPECT_FALSE(why.empty()) << bad;
  }
}

TEST(Fabric, RoutesEndWhereTheyShould) {
  std::string why;
  for (const char* text : {"full", "fat-tree:radix=8", "fat-tree:radix=8,taper=2",
                           "dragonfly:radix=8", "dragonfly:radix=16"}) {
    const int nodes = 70;
    const auto fabric = Fabric::parse(text, nodes, &why);
    ASSERT_TRUE(fabric) << why;
    std::vector<std::int64_t> route;
    for (int a = 0; a < nodes; ++a)
      for (int b = 0; b < nodes; ++b) {
        fabric->route(a, b, route);
        EXPECT_LE(route.size(), 6u) << text;
        const std::set<std::int64_t> once(route.begin(), route.end());
        EXPECT_EQ(once.size(), route.size());
        for (const std::int64_t link : route) {
          EXPECT_GE(link, 0);
          EXPECT_LT(link, fabric->links()) << text << " " << a << " " << b;
        }
        EXPECT_TRUE(a != b || route.empty());
      }
  }
}

TEST(Fabric, AFatTreeDoesNotBlockAShift) {
  // Zahavi: D-mod-k, all shifts of a full tree.
  std::string why;
  const int nodes = 64;
  const auto fabric = Fabric::parse("fat-tree:radix=8", nodes, &why);
  std::vector<std::int64_t> route;
  for (int by = 1; by < nodes; ++by) {
    std::set<std::int64_t> used;
    for (int a = 0; a < nodes; ++a) {
      fabric->route(a, (a + by) % nodes, route);
      for (const std::int64_t link : route) EXPECT_TRUE(used.insert(link).second) << by;
    }
  }
}

TEST(Replay, OneMessageIsTheLogGPOne) {
  const Declared x = declared(2, 1);
  for (const std::int64_t bytes : {8, 65536}) {
    const double lines = model::lines_of(bytes);
    const double found = simulated(x, Call::bcast, "binomial", bytes).result.longest;
    EXPECT_NEAR(found,
                network.takes(lines) + network.latency + x.node.message + x.node.copy * lines,
                1e-3 * found);
  }
}

TEST(Replay, AgreesWithTheWalkWhereNothingIsShared) {
  for (const char* way : {"recursive_doubling", "rabenseifner"})
    for (const std::int64_t bytes : {8, 256 << 10}) {
      const Declared x = declared(16, 1);
      const double walked = price_of(model::machine_across(16, 1, network),
                                     *find_way(Call::allreduce, way), Call::allreduce, bytes, false)
                                .seconds();
      const double found = simulated(x, Call::allreduce, way, bytes).result.longest;
      EXPECT_NEAR(found / walked, 1, 0.1) << way << " " << bytes;
    }
}

TEST(Replay, ANodeSendsOneMessageAtATime) {
  // Of a linear scatter the root sends to every other node.
  constexpr std::int64_t bytes = 1 << 20;
  const double found = simulated(declared(9, 1), Call::scatter, "linear", bytes).result.longest;
  EXPECT_GT(found, 8 * network.takes(model::lines_of(bytes)));
  // And of a linear gather the root receives one after the other.
  const double in = simulated(declared(9, 1), Call::gather, "linear", bytes).result.longest;
  EXPECT_GT(in, 8 * network.takes(model::lines_of(bytes)));
}

TEST(Replay, TaperedTreesAreSlower) {
  constexpr std::int64_t bytes = 64 << 10;
  const auto seconds = [&](const char* fabric) {
    return simulated(declared(64, 1, fabric), Call::alltoall, "pairwise", bytes).result.longest;
  };
  const double full = seconds("full");
  EXPECT_NEAR(seconds("fat-tree:radix=16") / full, 1, 0.25);
  EXPECT_GT(seconds("fat-tree:radix=16,taper=4") / full, 2);
  EXPECT_GE(seconds("dragonfly:radix=16") / full, 0.999);
}

TEST(Replay, CountsWhatCrosses) {
  constexpr std::int64_t n = 4 << 20;
  for (const int nodes : {2, 4, 8, 16})
    for (const char* way : {"nodes", "nodes_parts"}) {
      const auto found = simulated(declared(nodes, 4), Call::allreduce, way, n).result;
      EXPECT_LE(found.bytes, 2 * n * (nodes - 1) / nodes) << way << ", " << nodes << " nodes";
      EXPECT_EQ(found.replayed, std::string_view(way) == "nodes" ? nodes : nodes * 4);
    }
  const auto barrier = simulated(declared(8, 4), Call::barrier, "nodes", 0).result;
  EXPECT_EQ(barrier.messages, 3);
  EXPECT_EQ(barrier.all_messages, 24);
  EXPECT_EQ(simulated(declared(4, 4), Call::alltoall, "pairwise", 8).result.all_bytes,
            4 * 4 * 12 * 8);
}

TEST(Replay, AllWaysOfAllCollectivesEnd) {
  for (const Call call : explained)
    for (const auto& [nodes, each] : {std::pair{1, 1}, {2, 1}, {3, 2}, {5, 3}, {8, 4}})
      for (const std::int64_t bytes : {0, 8, 4096, 1 << 20}) {
        if (nodes * each < 2) continue;
        const Declared x = declared(nodes, each, "fat-tree:radix=4");
        for (const Way* way : ways_across(x, call, bytes)) {
          const Simulated found = simulate(x, *way, call, bytes);
          EXPECT_FALSE(found.is_too_long);
          EXPECT_GE(found.result.longest, found.result.median);
          EXPECT_GT(found.result.longest + (bytes == 0 ? 1 : 0), 0) << way->name;
        }
      }
}

TEST(Replay, PhasesOnNodesCount) {
  const auto seconds = [](int each) {
    return simulated(declared(8, each), Call::allreduce, "nodes", 8).result.longest;
  };
  EXPECT_GT(seconds(16), seconds(1));
  Declared x = declared(8, 16);
  const double taken = simulated(x, Call::allreduce, "nodes", 1 << 20).result.longest;
  x.on_node = "tree_8";  // not the one that is the cheapest
  EXPECT_NE(simulated(x, Call::allreduce, "nodes", 1 << 20).result.longest, taken);
}

TEST(Replay, SegmentsHidePhases) {
  Declared x = declared(2, 16);
  x.network = {.latency = 1e-6, .gap = 0.2e-6, .line = 6.4e-9};
  for (const Call call : {Call::bcast, Call::reduce, Call::allreduce}) {
    const double whole = simulated(x, call, "nodes", 16 << 20).result.longest;
    const double in_parts = simulated(x, call, "nodes_segments", 16 << 20).result.longest;
    EXPECT_LT(in_parts, 0.95 * whole) << call_name(call);
    EXPECT_GT(in_parts, 0.3 * whole) << call_name(call);
  }
}

TEST(Replay, PairsPassAtOnce) {
  const auto seconds = [](int each, double pairs) {
    Declared x = declared(2, each);
    x.network.line *= 20;  // so that copies on nodes do not count
    x.network.pairs = pairs;
    return simulated(x, Call::alltoall, "pairwise", 1 << 20).result.longest;
  };
  EXPECT_LT(seconds(4, 4), 0.7 * seconds(4, 1));  // ranks wait for each other in their steps
  EXPECT_GT(seconds(4, 4), 0.25 * seconds(4, 1));
  EXPECT_DOUBLE_EQ(seconds(1, 4), seconds(1, 1));
}

TEST(Replay, ManyRanks) {
  // A schedule of O(log n) steps of 100,000 ranks.
  const Declared x = declared(6250, 16);
  const auto found = simulated(x, Call::barrier, "dissemination", 0).result;
  EXPECT_EQ(found.replayed, 100'000);
  EXPECT_EQ(found.steps, 100'000 * 2 * 17);
  EXPECT_TRUE(simulated(x, Call::alltoall, "pairwise", 8).is_too_long);
}

TEST(WireUp, GrowsWithNodes) {
  const WireUp few = wire_up(declared(2, 4), 32, 40), many = wire_up(declared(1024, 4), 32, 40);
  EXPECT_EQ(few.messages, 2 * 6);
  EXPECT_EQ(few.deepest, 1);
  EXPECT_EQ(many.deepest, 2);
  EXPECT_EQ(many.messages, 32 + 2 * (1024 - 32) + (3 + 2) * 1024 + 32);
  EXPECT_EQ(many.sent, 3 * 32);
  EXPECT_EQ(many.got, 1024 + 3 * 32);
  EXPECT_GT(many.memory_per_node, few.memory_per_node);
  EXPECT_EQ(many.first_bytes, 32 * many.addresses_bytes);
}

TEST(WireUp, AtASizeThatNobodyHas) {
  const WireUp w = wire_up(declared(6250, 16), 32, 48);
  EXPECT_LE(w.memory_for_other, 16);
  EXPECT_LT(w.first_bytes, 200 << 20);
  EXPECT_LT(w.memory_per_rank, 100'000 * 16 + wire_up(declared(2, 16), 32, 48).memory_per_rank);
}

}  // namespace
}  // namespace weft::coll
