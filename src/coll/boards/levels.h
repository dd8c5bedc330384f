// SPDX-License-Identifier: Apache-2.0
//
// How the node's levels divide the ranks of one communicator, and trees laid along them. Computed
// locally from the table that all ranks share (topo/hierarchy.h), so all ranks agree. Pure.
//
// Level 0 is all ranks; each further level divides at least one group of the one before, and at
// least two ranks still share a group of it. Levels that divide nothing are left out: if nothing is
// known there is one level. A rank that runs in no single part of a level is a group of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topo/hierarchy.h"

namespace weft::coll {

class Levels {
 public:
  /// One level.
  explicit Levels(int ranks);
  /// Ranks that follow each other share groups of `sizes` ranks, from the outside in.
  Levels(int ranks, std::span<const int> sizes);
  /// `members`: the world ranks of the communicator's ranks.
  Levels(const topo::Hierarchy& node, std::span<const std::int32_t> members);

  int ranks() const { return static_cast<int>(order_.size()); }
  int depth() const { return static_cast<int>(group_.size()) - 1; }
  /// Groups are numbered so that those of one level inside one group follow each other. At level
  /// depth() every rank is a group.
  int groups(int level) const { return static_cast<int>(begin_[at(level)].size()) - 1; }
  int group_of(int level, int rank) const { return group_[at(level)][at(rank)]; }
  /// The ranks of a group; those of a group inside it follow each other, else they ascend.
  std::span<const std::int32_t> members(int level, int group) const {
    const auto& begin = begin_[at(level)];
    return std::span(order_).subspan(at(begin[at(group)]),
                                     at(begin[at(group + 1)] - begin[at(group)]));
  }
  int innermost() const { return depth() - 1; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  /// Sort by the groups found so far and number them in that order.
  void number();
  std::vector<std::int32_t> order_;               // all ranks, group by group
  std::vector<std::vector<std::int32_t>> group_;  // [level][rank]
  std::vector<std::vector<std::int32_t>> begin_;  // [level][group]: where it begins in order_
};

/// A rank's place in a tree.
struct Tree {
  int parent = -1;            // -1: the root
  std::vector<int> children;  // from the nearest to the farthest: the order in which they fold
};

inline constexpr int star = INT32_MAX;  // arity of a tree of one step

/// The n-ary tree over all ranks that is mapped to the levels: first the ranks of each innermost
/// group, then one of each group, and so on, so that between the groups of a level goes one edge
/// per group but the root's. Inside a group it is Li, Hoefler, Snir's (HPDC 2013, section 2.2): in
/// step i whoever is a multiple of n^(i+1) joins the n-1 next multiples of n^i, which is
/// ceil(log_n q) steps for q members; the root's group begins with the root. Sockets are the
/// corners of a square or cube (section 3.4, figure 17: a diagonal read takes longer), numbered so
/// that those at one edge differ in one bit: binary trees go along edges, whatever the root.
void lay_tree(const Levels& levels, int arity, int root, int me, Tree* out);
/// The same over innermost groups instead of ranks: numbers of groups.
void lay_group_tree(const Levels& levels, int arity, int root_group, int my_group, Tree* out);

/// ceil(log_n x), the steps of an n-ary tree over x members.
int tree_steps(int x, int arity);

}  // namespace weft::coll
