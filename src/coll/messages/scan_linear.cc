// SPDX-License-Identifier: Apache-2.0
//
// Inclusive and exclusive scan along the ranks: everybody waits for the result of the ranks before,
// puts its own behind it, and hands that on. Slow for many ranks, but there is one order of
// operands, (c0 op c1) op c2, and it is that of the scan in pieces (shared/strips.cc): the one that
// coll.reproducible wants.
//
// source   MPI-5.0 section 6.11.1, as written
// cost     T = (p-1) * (alpha + n*beta + n*gamma)
// legal    any p, count, type, operation; MPI_IN_PLACE
// example  p = 3: 0 -> 1 c0; 1 -> 2 c0 op c1; 2 has (c0 op c1) op c2.
#include "coll/messages/algorithms.h"

namespace weft::coll {
namespace {

void scan(Schedule& s, const Operands& x, Position me, bool inclusive) {
  const Type& type = *x.type;
  const bool first = me.rank == 0, last = me.rank == me.size - 1;
  const Buffer result{x.recv, x.count, &type};
  const ConstBuffer mine{operand(x), x.count, &type};
  // The value with this rank's operand; exclusive scans give away the one without it.
  void* value = inclusive ? x.recv : s.elements(x.count, type);
  if (value != mine.data) s.copy(mine, {value, x.count, &type});
  if (!first) {
    s.next_round();
    void* before = s.elements(x.count, type);
    s.recv({before, x.count, &type}, me.rank - 1);
    s.next_round();
    if (!inclusive) s.copy({before, x.count, &type}, result);
    if (inclusive || !last) s.reduce(before, value, x.count, type, *x.op);
  }
  s.next_round();
  if (!last) s.send({value, x.count, &type}, me.rank + 1);
  s.next_round();
}

}  // namespace

void scan_linear(Schedule& s, const Operands& x, Position me) {
  scan(s, x, me, true);
}

void exscan_linear(Schedule& s, const Operands& x, Position me) {
  scan(s, x, me, false);
}

}  // namespace weft::coll
