// SPDX-License-Identifier: Apache-2.0
//
// Tiled reduction: of each strip every rank of a group folds one tile over the group; the tiles of
// the groups are folded along a binary tree of groups, side by side; then the root, or everybody,
// collects them. Groups with fewer ranks than the largest have ranks with several tiles.
//   naive         one group; everybody begins with the same rank's vector
//   cyclic        one group; everybody begins with the vector of its neighbour
//   hierarchical  innermost groups; for allreduce each tile goes to one rank of each group, which
//                 the others there read
//
// source   Li, Hoefler, Snir, section 2.4, figure 7, equations (8) to (11); cyclic: Mamidala et al.
// reads    folded (p-1) m lines; of these across sockets: naive, cyclic (p-q) m, hierarchical
//          (s-1) m. Collected: by the root of its own group (naive, cyclic: of all) what it has not
//          folded itself; by everybody p (p-1)/p m, across sockets (p-q) m, hierarchical (s-1) m
// copies   its own tile, and what it collects; through areas its vector too
// steps    on the longest path q-1 folds of m/q (naive, cyclic: p-1 of m/p), ceil(log_2 s) of m/q
// legal    operations that commute, types without gaps; MPI_IN_PLACE
#include "coll/block/tile.h"
#include "coll/boards/algorithms.h"

namespace weft::coll {
namespace {

constexpr int everybody = -1;

class Tiled {
 public:
  Tiled(Schedule& s, const Operands& x, int root, const Levels& levels, const Site& node)
      : s_(s), x_(x), node_(node), levels_(levels), me_(node.me.rank), root_(root) {
    const int inner = levels.innermost();
    group_ = levels.group_of(inner, me_);
    root_group_ = levels.group_of(inner, root == everybody ? 0 : root);
    for (int g = 0; g < levels.groups(inner); ++g)
      tiles_ = std::max(tiles_, static_cast<int>(members(g).size()));
    while (members(group_)[static_cast<std::size_t>(place_)] != me_) ++place_;
    lay_group_tree(levels, reduce_arity, root_group_, group_, &node.ground.up);
  }

  void emit(bool cyclic) {
    const std::int64_t size = x_.type->size;
    const bool wants = root_ == everybody || root_ == me_;
    if (node_.direct()) {
      value_ = wants ? static_cast<std::byte*>(x_.recv) : s_.bytes(x_.count * size);
      const ConstBuffer mine{operand(x_), x_.count, x_.type}, folded{value_, x_.count, x_.type};
      s_.show(0, {&mine, 1});
      s_.show(1, {&folded, 1});
    }
    const Strips strips{x_.count, node_.strip_bytes(1) / size};
    for (t_ = 0; t_ < strips.count(); ++t_) {
      if (!node_.direct() && t_ >= 2) before_reuse(t_ - 2);
      at_ = strips.begin(t_) * size;
      length_ = strips.length(t_);
      show_operand();
      fold(cyclic);
      if (root_ == everybody) spread();
      if (wants) collect();
    }
    if (node_.direct() && strips.count() > 0) before_reuse(strips.count() - 1);
  }

 private:
  // What a rank has signalled of a strip: its vector is there; its tiles are folded, with those of
  // the groups below; its tiles have the result; it has collected all tiles.
  enum Phase { shown = 1, folded, final, collected, phases = collected };
  static std::int64_t phase(std::int64_t t, Phase which) { return t * phases + which; }

  std::span<const std::int32_t> members(int group) const {
    return levels_.members(levels_.innermost(), group);
  }
  int owner(int group, int tile) const {
    const auto ranks = members(group);
    return ranks[static_cast<std::size_t>(tile) % ranks.size()];
  }
  template <class Body>
  void for_my_tiles(Body&& body) const {
    for (int k = place_; k < tiles_; k += static_cast<int>(members(group_).size())) body(k);
  }
  template <class Body>
  void for_others_here(Body&& body) const {
    for (const int rank : members(group_))
      if (rank != me_) body(rank);
  }
  Tile tile(int k) const { return Tile(length_, x_.type->size, tiles_, k); }
  std::int64_t bytes(std::int64_t elements) const { return elements * x_.type->size; }
  /// A strip of a rank's vector, or of what it has folded.
  Source source(int rank, bool folded_too) const {
    return node_.source(rank, t_, at_, node_.direct() && folded_too ? 1 : 0);
  }
  std::byte* mine() const { return node_.direct() ? value_ + at_ : node_.piece(me_, t_, 0, 1); }
  Buffer received() const { return {x_.recv, x_.count, x_.type}; }

  void signal(Phase which) {
    s_.signal(phase(t_, which));
    for_others_here([&](int rank) { s_.wake(rank); });
    if (which == folded || which == final)
      for_my_tiles([&](int k) {
        for (int g = 0; g < levels_.groups(levels_.innermost()); ++g)
          if (g != group_) s_.wake(owner(g, k));
      });
  }

  void show_operand() {
    if (!node_.direct())
      s_.fetch(own({operand(x_), x_.count, x_.type}), at_, bytes(length_), placed(mine(), at_));
    signal(shown);
  }

  void fold(bool cyclic) {
    const auto here = members(group_);
    const int q = static_cast<int>(here.size());
    for_my_tiles([&](int k) {
      const Tile part = tile(k);
      const std::int64_t n = part.end - part.begin, at = at_ + bytes(part.begin);
      std::byte* to = mine() + bytes(part.begin);
      if (node_.direct() && operand(x_) != value_)
        s_.fetch(own({operand(x_), x_.count, x_.type}), at, bytes(n), placed(to, at));
      for (int i = 0; i < q; ++i) {
        const int rank = here[static_cast<std::size_t>(cyclic ? (place_ + i) % q : i)];
        if (rank == me_) continue;
        s_.await_phase(rank, phase(t_, shown));
        s_.fold(source(rank, false), at, to, n, *x_.type, *x_.op);
      }
      for (const int child : node_.ground.up.children) {
        s_.await_phase(owner(child, k), phase(t_, folded));
        s_.fold(source(owner(child, k), true), at, to, n, *x_.type, *x_.op);
      }
    });
    signal(folded);
  }

  /// The result of each tile to its owner in each group.
  void spread() {
    if (group_ != root_group_)
      for_my_tiles([&](int k) {
        const int from = owner(root_group_, k);
        const Tile part = tile(k);
        const std::int64_t at = at_ + bytes(part.begin);
        s_.await_phase(from, phase(t_, folded));
        s_.fetch(source(from, true), at, bytes(part.end - part.begin),
                 placed(mine() + bytes(part.begin), at));
      });
    signal(final);
  }

  void collect() {
    for (int i = 0; i < tiles_; ++i) {
      const int k = (place_ + i) % tiles_;  // not all from the same rank at once
      const int from = owner(group_, k);
      const Tile part = tile(k);
      const std::int64_t at = at_ + bytes(part.begin), n = bytes(part.end - part.begin);
      if (from != me_) {
        s_.await_phase(from, phase(t_, root_ == everybody ? final : folded));
        s_.fetch(source(from, true), at, n, received());
      } else if (!node_.direct()) {
        s_.fetch(own(placed(mine() + bytes(part.begin), at)), at, n, received());
      }
    }
    signal(collected);
  }

  /// Wait until nobody reads this rank's strip t any more.
  void before_reuse(std::int64_t t) {
    const bool all = root_ == everybody;
    for_others_here([&](int rank) { s_.await_phase(rank, phase(t, all ? collected : folded)); });
    if (all && group_ == root_group_)
      for_my_tiles([&](int k) {
        for (int g = 0; g < levels_.groups(levels_.innermost()); ++g)
          if (g != group_) s_.await_phase(owner(g, k), phase(t, final));
      });
    if (!all && node_.ground.up.parent >= 0)
      for_my_tiles(
          [&](int k) { s_.await_phase(owner(node_.ground.up.parent, k), phase(t, folded)); });
    if (!all && group_ == root_group_ && me_ != root_) s_.await_phase(root_, phase(t, collected));
  }

  Schedule& s_;
  const Operands& x_;
  const Site& node_;
  const Levels& levels_;
  const int me_, root_;
  int group_ = 0, root_group_ = 0;
  int place_ = 0;  // in the group: its first tile
  int tiles_ = 0;  // of a strip
  std::byte* value_ = nullptr;
  // the strip
  std::int64_t t_ = 0, at_ = 0, length_ = 0;
};

}  // namespace

void reduce_tiled_naive(Schedule& s, const Operands& x, int root, const Site& node) {
  Tiled(s, x, root, node.ground.flat, node).emit(false);
}
void reduce_tiled_cyclic(Schedule& s, const Operands& x, int root, const Site& node) {
  Tiled(s, x, root, node.ground.flat, node).emit(true);
}
void reduce_tiled_hierarchical(Schedule& s, const Operands& x, int root, const Site& node) {
  Tiled(s, x, root, node.levels(), node).emit(true);
}
void allreduce_tiled_naive(Schedule& s, const Operands& x, const Site& node) {
  Tiled(s, x, everybody, node.ground.flat, node).emit(false);
}
void allreduce_tiled_cyclic(Schedule& s, const Operands& x, const Site& node) {
  Tiled(s, x, everybody, node.ground.flat, node).emit(true);
}
void allreduce_tiled_hierarchical(Schedule& s, const Operands& x, const Site& node) {
  Tiled(s, x, everybody, node.levels(), node).emit(true);
}

}  // namespace weft::coll
