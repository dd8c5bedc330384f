// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter as a binomial reduce to rank 0, which then sends every rank its part. For short
// vectors, and for operations that do not commute.
//
// source   ours; the reduce is reduce_binomial.cc
// cost     T = (ceil(log2 p) + p-1) * alpha + (ceil(log2 p)*n + n(p-1)/p) * beta
//              + ceil(log2 p)*n * gamma
// legal    any p, counts, type, operation; MPI_IN_PLACE
// example  p = 3: 1 -> 0 {0,1}; 2 -> 0 {0,1,2}; then 0 -> 1 part 1, 0 -> 2 part 2.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void reduce_scatter_rooted(Schedule& s, const Operands& x, const Parts& parts, Position me) {
  const Type& type = *x.type;
  const std::int64_t total = parts.before(me.size);
  Operands whole{operand(x), nullptr, total, x.type, x.op};
  // Not in the receive buffer, even in place: it may hold less, and keeps what is behind the part.
  if (me.rank == 0) whole.recv = s.elements(total, type);
  reduce_binomial(s, whole, 0, me);
  if (me.rank == 0) {
    std::int64_t before = parts[0];
    for (int i = 1; i < me.size; ++i) {
      s.send({element(whole.recv, before, type), parts[i], &type}, i);
      before += parts[i];
    }
    s.copy({whole.recv, parts[0], &type}, {x.recv, parts[0], &type});
  } else {
    s.recv({x.recv, parts[me.rank], &type}, 0);
  }
  s.next_round();
}

}  // namespace weft::coll
