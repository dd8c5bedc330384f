// SPDX-License-Identifier: Apache-2.0
//
// Collectives across nodes, without nodes: how ranks are counted, what is emitted, what crosses.
#include "coll/nodes/algorithms.h"

#include <gtest/gtest.h>

#include <map>

#include "coll/walk.h"

namespace weft::coll {
namespace {

const model::Network network{.latency = 12e-6, .gap = 3e-6, .line = 64e-9};

std::vector<std::int32_t> list(const Nodes::Members& members) {
  std::vector<std::int32_t> out;
  for (const std::int32_t rank : members) out.push_back(rank);
  return out;
}

TEST(Nodes, Rows) {
  const Nodes nodes = Nodes::rows(3, 4);
  EXPECT_EQ(list(nodes.members(2)), (std::vector<std::int32_t>{8, 9, 10, 11}));
  EXPECT_EQ(nodes.members(1).back(), 7);
  EXPECT_EQ(nodes.count(), 3);
  EXPECT_EQ(nodes.node_of(7), 1);
  EXPECT_EQ(nodes.place_of(7), 3);
  EXPECT_TRUE(nodes.in_rows() && nodes.is_even());
}

TEST(Nodes, NumberedByTheirFirstRanks) {
  const std::int32_t node_of[] = {9, 2, 9, 5, 2, 9};
  const Nodes nodes(node_of);
  EXPECT_EQ(nodes.count(), 3);
  EXPECT_EQ(list(nodes.members(0)), (std::vector<std::int32_t>{0, 2, 5}));
  EXPECT_EQ(list(nodes.members(1)), (std::vector<std::int32_t>{1, 4}));
  EXPECT_EQ(nodes.node_of(4), 1);
  EXPECT_EQ(nodes.place_of(5), 2);
  EXPECT_EQ(nodes.fewest(), 1);
  EXPECT_EQ(nodes.most(), 3);
  EXPECT_FALSE(nodes.in_rows());
}

TEST(Nodes, UnevenRows) {
  const std::int32_t node_of[] = {0, 0, 0, 1};
  EXPECT_TRUE(Nodes(node_of).in_rows());
  EXPECT_FALSE(Nodes(node_of).is_even());
  EXPECT_EQ(Nodes(node_of).place_of(2), 2);
  EXPECT_EQ(Nodes(node_of).place_of(3), 0);
}

TEST(Nodes, RowsAreSmall) {
  constexpr std::size_t nodes = 6250, each = 16;
  EXPECT_LE(Nodes::rows(nodes, each).bytes(), sizeof(std::int32_t) * (nodes + 1));
}

/// Bytes and messages that leave a node, at most, in a call of `bytes` by phases.
struct Crossing {
  std::int64_t bytes = 0, messages = 0;
};
Crossing crossing(const char* name, Call call, std::int64_t bytes, int count, int each,
                  bool uniform = true) {
  const model::Machine x = model::machine_across(count, each, network);
  model::Machine node = x;
  node.nodes = 1;
  Cluster cluster(Nodes::rows(count, each), node, x);
  std::map<int, Crossing> left;
  for (int r = 0; r < x.all_ranks(); ++r) {
    Schedule s;
    s.imagine();
    const ImaginedCall imagined(call, bytes, x.all_ranks(), uniform);
    find_way(call, name)->at_nodes(s, imagined.operation, {cluster, r, nullptr});
    for (const Step& step : s.steps()) {
      if (step.what != Step::What::send || step.peer / each == r / each) continue;
      left[r / each].bytes += step.count * step.type->size;
      ++left[r / each].messages;
    }
  }
  Crossing most;
  for (const auto& [at, c] : left) {
    most.bytes = std::max(most.bytes, c.bytes);
    most.messages = std::max(most.messages, c.messages);
  }
  return most;
}

TEST(Nodes, WhatLeavesANode) {
  constexpr std::int64_t n = 4 << 20;
  for (const int count : {2, 4, 8}) {
    for (const char* way : {"nodes", "nodes_parts"}) {
      const Crossing c = crossing(way, Call::allreduce, n, count, 4);
      EXPECT_LE(c.bytes, 2 * n * (count - 1) / count) << way << ", " << count << " nodes";
    }
    EXPECT_LE(crossing("nodes", Call::reduce, n, count, 4).bytes, 2 * n);
    EXPECT_EQ(crossing("nodes", Call::reduce_scatter, n, count, 4).bytes, n / count * (count - 1));
    // A block of each rank of the node to each other node.
    EXPECT_EQ(crossing("nodes", Call::allgather, 1 << 20, count, 4).bytes, (4 << 20) * (count - 1));
    const Crossing all = crossing("nodes", Call::alltoall, 8, count, 4);
    EXPECT_LE(all.messages, count - 1);
    const Crossing parts = crossing("nodes_parts", Call::alltoall, 8, count, 4);
    EXPECT_EQ(parts.messages, 4 * (count - 1));
    EXPECT_EQ(parts.bytes, 8 * 4 * 4 * (count - 1));
  }
  EXPECT_EQ(crossing("nodes", Call::barrier, 0, 8, 4).messages, 3);
}

TEST(Nodes, BlocksOfAnySizesLeaveTogether) {
  constexpr std::int64_t short_block = 64, long_block = 1 << 20;
  for (const int count : {2, 3, 8}) {
    for (const Call call : {Call::gather, Call::scatter, Call::alltoall}) {
      const std::int64_t pairs = call == Call::alltoall ? 4 * 4 * (count - 1)
                                 : call == Call::gather ? 4
                                                        : 4 * (count - 1);
      const Crossing few = crossing("nodes", call, short_block, count, 4, false);
      EXPECT_LE(few.messages, call == Call::gather ? 1 : count - 1) << call_name(call);
      EXPECT_EQ(few.bytes, short_block * pairs) << call_name(call);
      // Each by itself: a leader would copy them.
      const Crossing all = crossing("nodes", call, long_block, count, 4, false);
      EXPECT_EQ(all.messages, pairs) << call_name(call);
      EXPECT_EQ(all.bytes, long_block * pairs) << call_name(call);
    }
  }
}

TEST(Nodes, BlocksThatNobodyKnowsGoInPhases) {
  for (const Call call : {Call::gatherv, Call::scatterv, Call::alltoallv}) {
    Choices choices{.machine = model::machine_across(4, 8, network)};
    const Way& way = choose(
        choices, {.call = call, .bytes = 64, .uniform = false, .boards = false, .across = true});
    EXPECT_EQ(way.place, Place::nodes) << call_name(call);
  }
}

TEST(Schedule, StepsEmittedLaterComeInTheirPlace) {
  Schedule s;
  int runs = 0;
  s.notify(1);
  s.later([&] {
    ++runs;
    s.notify(2);
  });
  s.notify(3);
  s.next_round();
  EXPECT_EQ(runs, 0);  // when it is run, or
  Schedule imagined;
  imagined.imagine();
  imagined.notify(1);
  imagined.later([&] { imagined.notify(2); });
  imagined.notify(3);
  ASSERT_EQ(imagined.steps().size(), 3u);  // at once
  EXPECT_EQ(imagined.steps()[1].peer, 2);
}

model::Network with_pairs(double pairs) {
  model::Network out = network;
  out.pairs = pairs;
  return out;
}

const Way& chosen(Call call, std::int64_t bytes, int nodes, int each, double pairs = 1) {
  Choices choices{.machine = model::machine_across(nodes, each, with_pairs(pairs))};
  return choose(choices,
                {.call = call, .bytes = bytes, .boards = false, .across = each > 1, .rows = true});
}

TEST(Nodes, PhasesAreTakenWhereTheyAreCheaper) {
  for (const Call call : {Call::barrier, Call::bcast, Call::reduce, Call::allreduce})
    EXPECT_EQ(chosen(call, call == Call::barrier ? 0 : 8, 4, 8).place, Place::nodes)
        << call_name(call);
  // A leader would copy all that its ranks can send themselves.
  EXPECT_EQ(chosen(Call::alltoall, 1 << 20, 2, 4).place, Place::messages);
  EXPECT_STREQ(chosen(Call::alltoall, 8, 4, 8).name, "nodes");
  // What it copies does not fit a cache (docs/cost-model.md: measured).
  EXPECT_EQ(chosen(Call::alltoall, 128 << 10, 2, 2).place, Place::messages);
  // One rank on each node.
  EXPECT_EQ(chosen(Call::allreduce, 8, 8, 1).place, Place::messages);
}

TEST(Nodes, EachRankLeadsAPartWhereTheirMessagesPassAtOnce) {
  EXPECT_STREQ(chosen(Call::allreduce, 256 << 10, 2, 8).name, "nodes");
  EXPECT_STREQ(chosen(Call::allreduce, 256 << 10, 2, 8, 8).name, "nodes_parts");
  EXPECT_STREQ(chosen(Call::allreduce, 8, 2, 8, 8).name, "nodes");
}

TEST(Nodes, TreesBetweenAllRanksDoNotFollowTheNodes) {
  // As if latency were nothing: a tree from rank 0 on would send as few messages as phases.
  const model::Network near{.latency = 0, .gap = 6e-6, .line = 8e-9};
  for (const Call call : {Call::bcast, Call::reduce}) {
    Choices choices{.machine = model::machine_across(2, 2, near)};
    const Way& way = choose(
        choices, {.call = call, .bytes = 4096, .boards = false, .across = true, .rows = true});
    EXPECT_EQ(way.place, Place::nodes) << call_name(call);
  }
}

TEST(Nodes, ManyAreNotWalkedOneByOne) {
  EXPECT_EQ(chosen(Call::allreduce, 1 << 20, 64, 128).place, Place::nodes);
  const Way& doubling = *find_way(Call::allreduce, "recursive_doubling");
  const auto seconds = [&](int nodes) {
    const model::Machine x = model::machine_across(nodes, 1, network);
    return price_of(x, doubling, Call::allreduce, 8, false).seconds();
  };
  EXPECT_NEAR(seconds(8192) / seconds(256), 13.0 / 8, 0.05);
}

TEST(Nodes, WhatMoreNodesCostFollowsFromFewer) {
  const model::Machine x = model::machine_across(32, 16, network);
  for (const auto& [call, name] : {std::pair{Call::allgather, "ring"},
                                   {Call::bcast, "scatter_allgather"},
                                   {Call::bcast, "binomial"},
                                   {Call::allreduce, "rabenseifner"}})
    for (const std::int64_t bytes : {8, 64 << 10}) {
      const Way& way = *find_way(call, name);
      const double all = Walk(x).price(way, call, bytes, false).seconds();
      EXPECT_NEAR(price_of(x, way, call, bytes, false).seconds() / all, 1, 0.15)
          << name << " " << bytes;
    }
}

TEST(Walk, OneNodeIsLeftAndEnteredByOneMessageAtATime) {
  // Of a binomial tree of 4 ranks, one on each node, the root sends twice.
  Walk walk(model::machine_across(4, 1, network));
  const Way& way = *find_way(Call::bcast, "binomial");
  const double small = walk.price(way, Call::bcast, 8, false).seconds();
  const double large = walk.price(way, Call::bcast, 1 << 20, false).seconds();
  EXPECT_GT(small, 2 * network.latency);
  EXPECT_LT(small, 2 * network.latency + 8 * network.gap);
  EXPECT_GT(large, 2 * (1 << 20) / 64 * network.line);
}

TEST(Walk, MessagesPassALinkAsTheyComeNotAsTheyAreWalked) {
  constexpr std::int64_t n = 256 << 10;
  const double all = 4 * 4 * network.takes(model::lines_of(n));  // out of a node, and into it
  Walk walk(model::machine_across(2, 4, network));
  for (const char* name : {"scattered", "pairwise"}) {
    const double seconds =
        walk.price(*find_way(Call::alltoall, name), Call::alltoall, n, false).seconds();
    EXPECT_GT(seconds, all) << name;
    EXPECT_LT(seconds, 1.15 * all) << name;
  }
}

TEST(Walk, AsManyRanksSendAtOnceAsTheNetworkHasPairs) {
  constexpr std::int64_t n = 256 << 10;
  model::Network slow = network;  // so that copies on nodes do not count
  slow.line *= 20;
  // In times of one message. Each of 4 ranks of a node sends to those of the other in their order.
  const auto times = [&](double pairs) {
    slow.pairs = pairs;
    Walk walk(model::machine_across(2, 4, slow));
    return walk.price(*find_way(Call::alltoall, "scattered"), Call::alltoall, n, false).seconds() /
           slow.takes(model::lines_of(n));
  };
  EXPECT_NEAR(times(1), 4 * 4, 0.2);
  EXPECT_LT(times(2), 0.7 * times(1));
  // All send to the first one first, which receives one after the other; the last one's come 3
  // later.
  EXPECT_NEAR(times(4), 4 + 3, 0.2);
  EXPECT_NEAR(times(64), 4 + 3, 0.2);
}

TEST(Nodes, AnAlltoallHoldsNoMoreThanItMay) {
  const Way &nodes = *find_way(Call::alltoall, "nodes"),
            &parts = *find_way(Call::alltoall, "nodes_parts");
  Case c{.call = Call::alltoall, .boards = false, .across = true, .ranks = 1024, .most_here = 16};
  const auto legal = [&](const Way& way, std::int64_t bytes, bool even) {
    c.bytes = bytes;
    c.even = even;
    return is_legal(way, c);
  };
  EXPECT_TRUE(legal(nodes, 1 << 10, false));
  EXPECT_FALSE(legal(nodes, 2 << 10, false));
  EXPECT_TRUE(legal(parts, 32 << 10, true));
  EXPECT_FALSE(legal(parts, 64 << 10, true));
  EXPECT_FALSE(legal(parts, 8, false));
}

}  // namespace
}  // namespace weft::coll
