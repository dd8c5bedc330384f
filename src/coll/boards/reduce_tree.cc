// SPDX-License-Identifier: Apache-2.0
//
// Reduction along the mapped tree, binary unless asked otherwise; allreduce: then a broadcast in
// one stage per level, or in one. A strip is folded on the way up: a rank waits for its children,
// folds what they have into its own, and signals. The bits depend on neither mode nor rank.
//
// source   Li, Hoefler, Snir, section 2.2, figure 3, equations (1) to (5)
// reads    p-1 vectors folded, (s-1) m lines across sockets; allreduce: as many copied; in one
// stage
//          (p-q) m across sockets
// copies   1 for who has children; through areas 1 for everybody, and the broadcast's
// steps    on the longest path ceil(log_2 q) + ceil(log_2 s) folds
// legal    operations that commute, types without gaps; MPI_IN_PLACE
// example  p = 4: 0 folds 1, 2 folds 3; 0 folds 2.
#include "coll/boards/algorithms.h"

namespace weft::coll {
namespace {

/// `down`: the levels along which all get the result; null: only the root gets it.
void reduce(Schedule& s, const Operands& x, const Levels* down, int root, const Site& node,
            int arity) {
  const Tree& tree = node.ground.up;
  const bool all = down != nullptr;
  lay_tree(node.levels(), arity, root, node.me.rank, &node.ground.up);
  if (all) lay_tree(*down, star, root, node.me.rank, &node.ground.down);
  const int parts = all ? 2 : 1;  // what goes up, what comes down
  const auto ready = [&](std::int64_t t) { return t * parts + 1; };
  const Spread spread{node, node.ground.down, 1, parts, parts, 2};
  const std::int64_t size = x.type->size, total = x.count * size;
  const bool direct = node.direct(), top = tree.parent < 0, leaf = tree.children.empty();
  auto* result = static_cast<std::byte*>(x.recv);
  const ConstBuffer mine{operand(x), x.count, x.type};
  const Buffer received{x.recv, x.count, x.type};

  // Where the fold of this rank and its children is, of the whole vector; null: strips in the area.
  std::byte* value = top || (all && direct) ? result : nullptr;
  if (direct) {
    if (!top && !all && !leaf) value = s.bytes(total);
    const ConstBuffer views[] = {leaf ? mine : ConstBuffer{value, x.count, x.type}, received};
    s.show(0, {&views[0], 1});
    if (all) s.show(1, {&views[1], 1});
  }
  const Strips strips{x.count, node.strip_bytes(parts) / size};
  for (std::int64_t t = 0; t < strips.count(); ++t) {
    const std::int64_t at = strips.begin(t) * size, n = strips.length(t);
    if (!direct && !top && t >= 2) s.await_phase(tree.parent, ready(t - 2));
    std::byte* to = value != nullptr ? value + at : node.piece(node.me.rank, t, 0, parts);
    const bool in_place = value != nullptr && value == mine.data;
    if (!(direct && leaf) && !in_place) s.fetch(own(mine), at, n * size, placed(to, at));
    for (const int child : tree.children) {
      s.await_phase(child, ready(t));
      s.fold(node.source(child, t, at, 0, parts), at, to, n, *x.type, *x.op);
    }
    s.signal(ready(t));
    if (!top) s.wake(tree.parent);
    for (const int child : tree.children) s.wake(child);
    if (all) spread.strip(s, t, at, n * size, received);
  }
  if (!direct || strips.count() == 0) return;
  if (all)
    spread.before_reuse(s, strips.count() - 1);
  else if (!top)
    s.await_phase(tree.parent, ready(strips.count() - 1));
}

}  // namespace

void reduce_tree(Schedule& s, const Operands& x, int root, const Site& node, int arity) {
  reduce(s, x, nullptr, root, node, arity);
}

void allreduce_tree(Schedule& s, const Operands& x, const Site& node, int arity) {
  reduce(s, x, &node.levels(), 0, node, arity);
}

void allreduce_tree_one_stage(Schedule& s, const Operands& x, const Site& node, int arity) {
  reduce(s, x, &node.ground.flat, 0, node, arity);
}

}  // namespace weft::coll
