// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter by pairwise exchange: in round i everybody sends the part of the rank i further on
// straight to it, and reduces what came for its own part in the round before.
//
// source   Thakur et al., IJHPCA 19(1), 2005, section 3.6 (pairwise exchange)
// cost     T = (p-1) * (alpha + n/p*beta + n/p*gamma), the reductions of all but the last round
//          being hidden behind messages
// legal    any p, counts, type; commutative operations; MPI_IN_PLACE
// example  p = 3, rank 0: round 1 sends part 1 to 1, receives its part from 2; round 2 sends part 2
//          to 2, receives its part from 1 and reduces that of 2.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void reduce_scatter_pairwise(Schedule& s, const Operands& x, const Parts& parts, Position me) {
  const int p = me.size;
  const Type& type = *x.type;
  const bool in_place = is_in_place(x.send);
  const void* input = in_place ? x.recv : x.send;
  const std::int64_t own = parts[me.rank];
  const void* own_input = element(input, parts.before(me.rank), type);
  if (p == 1) {
    if (!in_place) s.copy({input, own, &type}, {x.recv, own, &type});
    s.next_round();
    return;
  }
  // In place, the result's room holds parts of others until all are sent.
  void* result = in_place ? s.elements(own, type) : x.recv;
  void* arrived[2] = {p > 2 ? s.elements(own, type) : nullptr,
                      p > 3 ? s.elements(own, type) : nullptr};
  const auto fold_in = [&](int round) {
    const void* in = round == 1 ? own_input : arrived[round % 2];
    s.reduce(in, result, own, type, *x.op);
  };
  for (int i = 1; i < p; ++i) {
    const int to = (me.rank + i) % p;
    s.send({element(input, parts.before(to), type), parts[to], &type}, to);
    s.recv({i == 1 ? result : arrived[i % 2], own, &type}, (me.rank - i + p) % p);
    if (i > 1) fold_in(i - 1);
    s.next_round();
  }
  fold_in(p - 1);
  s.next_round();
  if (in_place) s.copy({result, own, &type}, {x.recv, own, &type});
  s.next_round();
}

}  // namespace weft::coll
