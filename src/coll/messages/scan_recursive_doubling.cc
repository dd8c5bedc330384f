// SPDX-License-Identifier: Apache-2.0
//
// Inclusive and exclusive scan. In round k everybody exchanges the value of its group of 2^k ranks
// with the rank 2^k away; what comes from a lower rank goes into the result too. A lower group is
// always complete, so nothing is missing when p is no power of two.
//
// source   Hillis, Steele: Data parallel algorithms, CACM 29(12), 1986, on the hypercube pattern of
//          recursive doubling (Thakur et al., IJHPCA 19(1), 2005, section 3.5)
// cost     T <= ceil(log2 p) * (alpha + n*beta + 2n*gamma)
// legal    any p, count, type, operation; MPI_IN_PLACE
// example  p = 3: round 1: 0 <-> 1, result of 1 is {0,1}; round 2: 0 <-> 2 with groups {0,1} and
//          {2}, result of 2 is {0,1,2}; rank 1 has no partner 3.
#include <utility>

#include "coll/messages/algorithms.h"

namespace weft::coll {
namespace {

void scan(Schedule& s, const Operands& x, Position me, bool inclusive) {
  const bool in_place = is_in_place(x.send);
  const ConstBuffer mine{in_place ? x.recv : x.send, x.count, x.type};
  const Buffer result{x.recv, x.count, x.type};
  void* group = me.size > 1 ? s.elements(x.count, *x.type) : nullptr;
  void* other = me.size > 1 ? s.elements(x.count, *x.type) : nullptr;
  if (me.size > 1) s.copy(mine, {group, x.count, x.type});
  if (inclusive && !in_place) s.copy(mine, result);
  s.next_round();

  bool has_result = inclusive;
  for (int bit = 1; bit < me.size; bit *= 2) {
    const int partner = me.rank ^ bit;
    if (partner >= me.size) continue;
    s.send({group, x.count, x.type}, partner);
    s.recv({other, x.count, x.type}, partner);
    s.next_round();
    if (partner < me.rank) {
      if (has_result)
        s.reduce(other, x.recv, x.count, *x.type, *x.op);
      else
        s.copy({other, x.count, x.type}, result);
      has_result = true;
      s.reduce(other, group, x.count, *x.type, *x.op);
    } else {
      s.reduce(group, other, x.count, *x.type, *x.op);
      std::swap(group, other);
    }
    s.next_round();
  }
}

}  // namespace

void scan_recursive_doubling(Schedule& s, const Operands& x, Position me) {
  scan(s, x, me, true);
}

void exscan_recursive_doubling(Schedule& s, const Operands& x, Position me) {
  scan(s, x, me, false);
}

}  // namespace weft::coll
