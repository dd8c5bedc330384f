// SPDX-License-Identifier: Apache-2.0
//
// Reductions that fold in rank order and from the right, c0 op (c1 op (c2 ...)), as those in shared
// memory do: rank i collects part i of all vectors and folds it; what is more than a reduce-scatter
// then hands the folded parts on. So with coll.reproducible all ways give the same bits, and for
// long vectors no operation needs to commute.
//
// source   ours; the division is that of Rabenseifner (ICCS 2004), without halving
// cost     reduce_scatter: T = (p-1) * (alpha + n/p*beta + n/p*gamma); reduce and allreduce:
//          + (p-1) * (alpha + n/p*beta)
// legal    any p, counts, type, operation; MPI_IN_PLACE
// example  p = 3, rank 1: sends parts 0 and 2, receives part 1 of ranks 0 and 2, and folds
//          c0 op (c1 op c2); allreduce: sends the result to ranks 0 and 2, receives theirs.
#include <algorithm>
#include <vector>

#include "coll/messages/algorithms.h"

namespace weft::coll {
namespace {

/// `count` elements in equal parts; the first ones have one more if they must.
struct Equal {
  std::int64_t count;
  int parts;
  std::int64_t before(int i) const {
    return count / parts * i + std::min<std::int64_t>(i, count % parts);
  }
  std::int64_t operator[](int i) const { return before(i + 1) - before(i); }
};

/// Fold this rank's part of all vectors. Returns where it is.
template <class Division>
void* fold_own_part(Schedule& s, const Operands& x, const Division& parts, Position me) {
  const Type& type = *x.type;
  const std::int64_t own = parts[me.rank];
  const auto brought = [&](int i) { return element(operand(x), parts.before(i), type); };
  std::vector<void*> operands;
  for (int i = 0; i < me.size; ++i) operands.push_back(s.elements(own, type));
  s.copy({brought(me.rank), own, &type}, {operands[static_cast<std::size_t>(me.rank)], own, &type});
  for (int i = 1; i < me.size; ++i) {
    const int to = (me.rank + i) % me.size, from = (me.rank - i + me.size) % me.size;
    s.send({brought(to), parts[to], &type}, to);
    s.recv({operands[static_cast<std::size_t>(from)], own, &type}, from);
  }
  s.next_round();
  for (int i = me.size - 2; i >= 0; --i)
    s.reduce(operands[static_cast<std::size_t>(i)], operands.back(), own, type, *x.op);
  s.next_round();
  return operands.back();
}

}  // namespace

void reduce_scatter_ordered(Schedule& s, const Operands& x, const Parts& parts, Position me) {
  const void* folded = fold_own_part(s, x, parts, me);
  s.copy({folded, parts[me.rank], x.type}, {x.recv, parts[me.rank], x.type});
  s.next_round();
}

void reduce_ordered(Schedule& s, const Operands& x, int root, Position me) {
  const Type& type = *x.type;
  const Equal parts{x.count, me.size};
  const void* folded = fold_own_part(s, x, parts, me);
  const std::int64_t own = parts[me.rank];
  const auto result = [&](int i) { return element(x.recv, parts.before(i), type); };
  if (me.rank != root) {
    s.send({folded, own, &type}, root);
  } else {
    s.copy({folded, own, &type}, {result(root), own, &type});
    for (int i = 0; i < me.size; ++i)
      if (i != root) s.recv({result(i), parts[i], &type}, i);
  }
  s.next_round();
}

void allreduce_ordered(Schedule& s, const Operands& x, Position me) {
  const Type& type = *x.type;
  const Equal parts{x.count, me.size};
  const void* folded = fold_own_part(s, x, parts, me);
  const std::int64_t own = parts[me.rank];
  const auto result = [&](int i) { return element(x.recv, parts.before(i), type); };
  s.copy({folded, own, &type}, {result(me.rank), own, &type});
  for (int i = 1; i < me.size; ++i) {
    const int to = (me.rank + i) % me.size, from = (me.rank - i + me.size) % me.size;
    s.send({folded, own, &type}, to);
    s.recv({result(from), parts[from], &type}, from);
  }
  s.next_round();
}

}  // namespace weft::coll
