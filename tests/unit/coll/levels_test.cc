// SPDX-License-Identifier: Apache-2.0
// Levels of communicators on made-up machines, and the trees along them: each reaches every rank
// once, in as many steps as the formula says, and crosses each level as seldom as possible.
#include "coll/boards/levels.h"
#include "coll/boards/node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>

namespace weft::coll {
namespace {

/// A table of levels, each a row of parts.
class Machine {
 public:
  explicit Machine(const std::vector<std::vector<int>>& rows)
      : ranks_(rows.front().size()), memory_((topo::HierarchyTable::bytes(ranks_) + 7) / 8) {
    table().levels = static_cast<std::uint32_t>(rows.size());
    table().ranks = static_cast<std::uint32_t>(ranks_);
    for (std::size_t l = 0; l < rows.size(); ++l)
      std::copy(rows[l].begin(), rows[l].end(), table().row(static_cast<int>(l)));
  }
  topo::Hierarchy hierarchy() { return topo::Hierarchy(table()); }

 private:
  topo::HierarchyTable& table() { return *reinterpret_cast<topo::HierarchyTable*>(memory_.data()); }
  std::size_t ranks_;
  std::vector<std::uint64_t> memory_;
};

std::vector<std::int32_t> all(int p) {
  std::vector<std::int32_t> members(static_cast<std::size_t>(p));
  std::iota(members.begin(), members.end(), 0);
  return members;
}
std::vector<std::int32_t> list(std::span<const std::int32_t> s) {
  return {s.begin(), s.end()};
}

TEST(Levels, NothingKnownIsOneLevel) {
  topo::HierarchyTable nothing{};
  const Levels levels(topo::Hierarchy(nothing), all(3));
  EXPECT_EQ(levels.depth(), 1);
  EXPECT_EQ(list(levels.members(0, 0)), all(3));
}

TEST(Levels, LeavesOutWhatDividesNothing) {
  // Machine, package, NUMA node (the same), L3 in pairs, core.
  Machine machine({{0, 0, 0, 0, 0, 0, 0, 0},
                   {0, 0, 0, 0, 1, 1, 1, 1},
                   {0, 0, 0, 0, 1, 1, 1, 1},
                   {0, 0, 1, 1, 2, 2, 3, 3},
                   {0, 1, 2, 3, 4, 5, 6, 7}});
  const Levels world(machine.hierarchy(), all(8));
  EXPECT_EQ(world.depth(), 3);
  EXPECT_EQ(world.groups(1), 2);
  EXPECT_EQ(world.groups(2), 4);
  const std::int32_t one_package[] = {4, 5, 6, 7};
  EXPECT_EQ(Levels(machine.hierarchy(), one_package).depth(), 2);
  const std::int32_t one_of_each[] = {0, 4};
  EXPECT_EQ(Levels(machine.hierarchy(), one_of_each).depth(), 1);
}

TEST(Levels, AnyMappingAndRanksInNoPart) {
  Machine machine({{0, 0, 0, 0, 0, 0}, {1, 0, -1, 1, 0, -1}});
  const Levels levels(machine.hierarchy(), all(6));
  EXPECT_EQ(levels.depth(), 2);
  EXPECT_EQ(levels.groups(1), 4);
  EXPECT_EQ(list(levels.members(1, levels.group_of(1, 0))), (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(list(levels.members(1, levels.group_of(1, 1))), (std::vector<std::int32_t>{1, 4}));
  EXPECT_EQ(levels.members(1, levels.group_of(1, 2)).size(), 1u);
  EXPECT_NE(levels.group_of(1, 2), levels.group_of(1, 5));
}

TEST(Levels, GroupsOfALevelInsideOneFollowEachOther) {
  // Parts interleaved by the mapping, and parts of the inner level that cut across.
  Machine machine(
      {{0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {5, 5, 5, 5, 6, 6, 6, 6, 6}});
  const Levels levels(machine.hierarchy(), all(9));
  ASSERT_EQ(levels.depth(), 3);
  for (int l = 0; l < levels.depth(); ++l) {
    int seen = 0;
    for (int g = 0; g < levels.groups(l); ++g)
      for (const std::int32_t rank : levels.members(l, g)) {
        EXPECT_EQ(levels.group_of(l, rank), g);
        ++seen;
      }
    EXPECT_EQ(seen, 9);
  }
  for (int g = 0; g < levels.groups(2); ++g) {
    const auto members = levels.members(2, g);
    for (const std::int32_t rank : members)
      EXPECT_EQ(levels.group_of(1, rank), levels.group_of(1, members.front()));
  }
}

struct Walk {
  int reached = 0, steps = 0, outer_edges = 0;
};

/// From `rank` down: every child knows its parent; how deep it goes if a rank serves its children
/// one after the other.
void walk(const Levels& levels, int arity, int root, int rank, int depth, Walk* out) {
  Tree tree, below;
  lay_tree(levels, arity, root, rank, &tree);
  ++out->reached;
  out->steps = std::max(out->steps, depth);
  for (const int child : tree.children) {
    lay_tree(levels, arity, root, child, &below);
    EXPECT_EQ(below.parent, rank);
    const int inner = levels.innermost();
    if (levels.group_of(inner, rank) != levels.group_of(inner, child)) ++out->outer_edges;
    walk(levels, arity, root, child, depth + 1, out);
  }
}

TEST(Trees, ReachEveryRankOnceAndCrossOncePerGroup) {
  for (const auto& [sockets, cores] : {std::pair{2, 6}, {4, 8}, {3, 5}, {1, 7}, {7, 2}}) {
    std::vector<std::vector<int>> rows(2);
    for (int r = 0; r < sockets * cores; ++r) {
      rows[0].push_back(0);
      rows[1].push_back(r % sockets);  // round robin
    }
    Machine machine(rows);
    const int p = sockets * cores;
    const Levels levels(machine.hierarchy(), all(p));
    for (const int arity : {2, 3, 4, 8, star})
      for (int root = 0; root < p; ++root) {
        Tree top;
        lay_tree(levels, arity, root, root, &top);
        EXPECT_EQ(top.parent, -1);
        Walk found;
        walk(levels, arity, root, root, 0, &found);
        EXPECT_EQ(found.reached, p);
        EXPECT_EQ(found.outer_edges, levels.depth() == 1 ? 0 : sockets - 1);
        EXPECT_LE(found.steps, tree_steps(cores, arity) + tree_steps(sockets, arity));
      }
  }
}

TEST(Trees, UnevenGroups) {
  Machine machine({{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 1, 1, 2}});
  const Levels levels(machine.hierarchy(), all(8));
  for (int root = 0; root < 8; ++root) {
    Walk found;
    walk(levels, 2, root, root, 0, &found);
    EXPECT_EQ(found.reached, 8);
    EXPECT_EQ(found.outer_edges, 2);
  }
}

TEST(Trees, BinaryAsInThePaper) {  // figure 3: inside a socket of four 1 -> 0, 3 -> 2, then 2 -> 0
  const Levels levels(4);
  Tree tree;
  lay_tree(levels, 2, 0, 0, &tree);
  EXPECT_EQ(tree.children, (std::vector<int>{1, 2}));
  lay_tree(levels, 2, 0, 2, &tree);
  EXPECT_EQ(tree.parent, 0);
  EXPECT_EQ(tree.children, (std::vector<int>{3}));
}

TEST(Trees, BinaryOnesNeverCrossADiagonal) {
  const Levels sockets(4);
  Tree tree;
  for (int root = 0; root < 4; ++root)
    for (int me = 0; me < 4; ++me) {
      lay_tree(sockets, 2, root, me, &tree);
      if (me == root)
        EXPECT_EQ(tree.parent, -1);
      else
        EXPECT_EQ(std::popcount(static_cast<unsigned>(me ^ tree.parent)), 1) << root << " " << me;
    }
}

TEST(Trees, OverGroups) {
  Machine machine({{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 2, 2, 3, 3}});
  const Levels levels(machine.hierarchy(), all(8));
  Tree tree;
  lay_group_tree(levels, 2, 1, 1, &tree);
  EXPECT_EQ(tree.parent, -1);
  EXPECT_EQ(tree.children, (std::vector<int>{0, 3}));
  lay_group_tree(levels, 2, 1, 2, &tree);
  EXPECT_EQ(tree.parent, 3);
  lay_group_tree(Levels(5), 2, 0, 0, &tree);
  EXPECT_EQ(tree.parent, -1);
  EXPECT_TRUE(tree.children.empty());
}

TEST(Strips, FitTheCacheOfTheirRank) {
  EXPECT_EQ(strip_for(0), 256 << 10) << "no cache is known";
  EXPECT_EQ(strip_for((16 << 20) / 64.0), 256 << 10);
  EXPECT_EQ(strip_for((512 << 10) / 64.0), 128 << 10);
  EXPECT_EQ(strip_for((24 << 10) / 64.0), 16 << 10);
}

}  // namespace
}  // namespace weft::coll
