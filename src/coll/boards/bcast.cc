// SPDX-License-Identifier: Apache-2.0
//
// Broadcast along a tree: whoever has a strip signals, its children read it from there.
//   one_stage   everybody reads from the root
//   two_stage   one rank of each group reads from the outer one, level by level; then the others
//               from it (two stages with two levels)
//   tree        4-ary, mapped to the levels
//
// source   Li, Hoefler, Snir, section 2.2 and figure 4
// reads    p-1 vectors. Across sockets: one_stage (p-q) m lines, two_stage and tree (s-1) m
// copies   1 each; through areas the root 1, who reads and is read from 2
// steps    on the longest path: 1; one per level; ceil(log_4 q) + ceil(log_4 s)
// legal    any p, root, count, type
#include "coll/boards/algorithms.h"

namespace weft::coll {

void Spread::before_reuse(Schedule& s, std::int64_t t) const {
  for (const int child : tree.children) s.await_phase(child, phase(t));
}

void Spread::strip(Schedule& s, std::int64_t t, std::int64_t at, std::int64_t bytes,
                   const Buffer& buffer) const {
  const bool root = tree.parent < 0, staged = !node.direct() && !tree.children.empty();
  if (staged && t >= 2) before_reuse(s, t - 2);
  if (!root) s.await_phase(tree.parent, phase(t));
  const Source from = root ? own(buffer) : node.source(tree.parent, t, at, part, parts);
  const Buffer mine = staged ? placed(node.piece(node.me.rank, t, part, parts), at) : buffer;
  if (staged || !root) s.fetch(from, at, bytes, mine);
  s.signal(phase(t));
  if (!root) s.wake(tree.parent);
  for (const int child : tree.children) s.wake(child);
  if (staged && !root) s.fetch(own(mine), at, bytes, buffer);
}

namespace {

void bcast(Schedule& s, const Buffer& buffer, const Levels& levels, int arity, int root,
           const Site& node) {
  lay_tree(levels, arity, root, node.me.rank, &node.ground.down);
  const Spread spread{node, node.ground.down, 0, 1, 1, 1};
  const ConstBuffer view = buffer;
  if (node.direct() && !spread.tree.children.empty()) s.show(0, {&view, 1});
  const Strips strips{buffer.bytes(), node.strip_bytes(1)};
  for (std::int64_t t = 0; t < strips.count(); ++t)
    spread.strip(s, t, strips.begin(t), strips.length(t), buffer);
  if (node.direct() && strips.count() > 0) spread.before_reuse(s, strips.count() - 1);
}

}  // namespace

void bcast_one_stage(Schedule& s, const Buffer& buffer, int root, const Site& node) {
  bcast(s, buffer, node.ground.flat, star, root, node);
}

void bcast_two_stage(Schedule& s, const Buffer& buffer, int root, const Site& node) {
  bcast(s, buffer, node.levels(), star, root, node);
}

void bcast_tree(Schedule& s, const Buffer& buffer, int root, const Site& node, int arity) {
  bcast(s, buffer, node.levels(), arity, root, node);
}

}  // namespace weft::coll
