// SPDX-License-Identifier: Apache-2.0
//
// Allreduce of short vectors: in round k everybody exchanges its value with the rank 2^k away. The
// operand of the lower rank is always the left one, so every rank computes the same bits, and
// operations that do not commute are right.
//
// source   Thakur et al., IJHPCA 19(1), 2005, section 3.5 (recursive doubling); folding.h for other
//          p
// cost     T = d * (alpha + n*beta + n*gamma), d = log2 p, if p is a power of two; otherwise T =
//          (d+2) * (alpha + n*beta) + (d+1) * n*gamma, d = floor(log2 p)
// legal    any p, count, type, operation; MPI_IN_PLACE
// example  p = 3: 0 -> 1 {0,1}; 1 <-> 2 {0,1,2}; 1 -> 0.
#include <utility>

#include "coll/messages/algorithms.h"
#include "coll/messages/folding.h"

namespace weft::coll {

void allreduce_recursive_doubling(Schedule& s, const Operands& x, Position me) {
  const Folding fold(me.size);
  const bool in_place = is_in_place(x.send);
  const ConstBuffer mine{in_place ? x.recv : x.send, x.count, x.type};
  const Buffer result{x.recv, x.count, x.type};
  if (fold.is_passive(me.rank)) {
    s.send(mine, me.rank + 1);
    s.next_round();
    s.recv(result, me.rank + 1);
    s.next_round();
    return;
  }

  void* value = x.recv;
  void* other = me.size > 1 ? s.elements(x.count, *x.type) : nullptr;
  if (!in_place) s.copy(mine, result);
  if (fold.is_host(me.rank)) {
    s.recv({other, x.count, x.type}, me.rank - 1);
    s.next_round();
    s.reduce(other, value, x.count, *x.type, *x.op);
  }
  s.next_round();

  const int active = fold.active_of(me.rank);
  for (int bit = 1; bit < fold.power; bit *= 2) {
    const int partner = fold.rank_of(active ^ bit);
    s.send({value, x.count, x.type}, partner);
    s.recv({other, x.count, x.type}, partner);
    s.next_round();
    if (partner < me.rank) {
      s.reduce(other, value, x.count, *x.type, *x.op);
    } else {
      s.reduce(value, other, x.count, *x.type, *x.op);
      std::swap(value, other);
    }
    s.next_round();
  }
  if (fold.is_host(me.rank)) s.send({value, x.count, x.type}, me.rank - 1);
  if (value != x.recv) s.copy({value, x.count, x.type}, result);
  s.next_round();
}

}  // namespace weft::coll
