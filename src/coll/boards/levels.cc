// SPDX-License-Identifier: Apache-2.0
#include "coll/boards/levels.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace weft::coll {

Levels::Levels(int ranks) : order_(at(ranks)), group_(2), begin_(2) {
  std::iota(order_.begin(), order_.end(), 0);
  group_[0].assign(at(ranks), 0);
  group_[1] = order_;
  number();
}

Levels::Levels(int ranks, std::span<const int> sizes) : Levels(ranks) {
  for (const int size : sizes) {
    std::vector<std::int32_t> group(at(ranks)), begin;
    for (int r = 0; r < ranks; ++r) {
      group[at(r)] = r / size;
      if (r % size == 0) begin.push_back(r);
    }
    begin.push_back(ranks);
    group_.insert(group_.end() - 1, std::move(group));
    begin_.insert(begin_.end() - 1, std::move(begin));
  }
}

Levels::Levels(const topo::Hierarchy& node, std::span<const std::int32_t> members)
    : Levels(static_cast<int>(members.size())) {
  for (int l = 1; l < node.levels(); ++l) {
    // The outer group and the part of this level, numbered in the order in which they appear.
    std::vector<std::pair<std::int32_t, std::int32_t>> seen;
    std::vector<std::int32_t> inner(members.size());
    const std::vector<std::int32_t>& outer = group_[at(innermost())];
    for (std::size_t r = 0; r < members.size(); ++r) {
      const std::int32_t part = node.group_of(l, members[r]);
      const std::pair key{outer[r], part < 0 ? -1 - static_cast<std::int32_t>(r) : part};
      const auto found = std::find(seen.begin(), seen.end(), key);
      inner[r] = static_cast<std::int32_t>(found - seen.begin());
      if (found == seen.end()) seen.push_back(key);
    }
    if (seen.size() == at(groups(innermost()))) continue;  // divides nothing
    if (seen.size() == members.size()) break;              // nobody shares anything any more
    group_.insert(group_.end() - 1, std::move(inner));
    begin_.emplace_back();
    number();
  }
}

void Levels::number() {
  std::iota(order_.begin(), order_.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    for (int l = 0; l < depth(); ++l)
      if (group_of(l, a) != group_of(l, b)) return group_of(l, a) < group_of(l, b);
    return a < b;
  };
  std::sort(order_.begin(), order_.end(), before);
  for (int l = 0; l <= depth(); ++l) {
    std::vector<std::int32_t>& begin = begin_[at(l)];
    std::vector<std::int32_t> renumbered(order_.size());
    begin.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (i == 0 || l == depth() || group_of(l, order_[i]) != group_of(l, order_[i - 1]))
        begin.push_back(static_cast<std::int32_t>(i));
      renumbered[at(order_[i])] = static_cast<std::int32_t>(begin.size()) - 1;
    }
    begin.push_back(static_cast<std::int32_t>(order_.size()));
    group_[at(l)] = std::move(renumbered);
  }
}

namespace {

/// A tree over the groups of level `unit`; `root` and `me` are ranks.
void lay(const Levels& levels, int unit, int arity, int root, int me, Tree* out) {
  out->parent = -1;
  out->children.clear();
  // The unit that stands for a group: the root's if it is in it, else the first one.
  const auto leader = [&](int level, int group) {
    const int rank =
        levels.group_of(level, root) == group ? root : levels.members(level, group).front();
    return levels.group_of(unit, rank);
  };
  for (int l = unit - 1; l >= 0; --l) {
    if (leader(l + 1, levels.group_of(l + 1, me)) != levels.group_of(unit, me)) return;
    const auto members = levels.members(l, levels.group_of(l, me));
    const int first = levels.group_of(l + 1, members.front());
    const int size = levels.group_of(l + 1, members.back()) - first + 1;
    // Counted from the subgroup of the one who leads.
    const bool has_root = levels.group_of(l, root) == levels.group_of(l, me);
    const int head = has_root ? levels.group_of(l + 1, root) - first : 0;
    // Of a power of two of subgroups, those whose numbers differ in one bit are near.
    const bool cube = std::has_single_bit(static_cast<unsigned>(size));
    const int here = levels.group_of(l + 1, me) - first;
    const int mine = cube ? here ^ head : (here - head + size) % size;
    const auto unit_of = [&](std::int64_t i) {
      const int counted = static_cast<int>(i);
      return leader(l + 1, first + (cube ? counted ^ head : (counted + head) % size));
    };
    for (std::int64_t stride = 1; stride < size; stride *= arity) {
      if (mine % (stride * arity) != 0) {
        out->parent = unit_of(mine - mine % (stride * arity));
        return;
      }
      for (std::int64_t c = 1; c < arity && mine + c * stride < size; ++c)
        out->children.push_back(unit_of(mine + c * stride));
    }
  }
}

}  // namespace

void lay_tree(const Levels& levels, int arity, int root, int me, Tree* out) {
  const int depth = levels.depth();
  lay(levels, depth, arity, root, me, out);
  const auto rank_at = [&](int position) { return levels.members(depth, position).front(); };
  if (out->parent >= 0) out->parent = rank_at(out->parent);
  for (int& child : out->children) child = rank_at(child);
}

void lay_group_tree(const Levels& levels, int arity, int root_group, int my_group, Tree* out) {
  const int unit = levels.innermost();
  lay(levels, unit, arity, levels.members(unit, root_group).front(),
      levels.members(unit, my_group).front(), out);
}

int tree_steps(int x, int arity) {
  int steps = 0;
  for (std::int64_t reach = 1; reach < x; reach *= arity) ++steps;
  return steps;
}

}  // namespace weft::coll
