// SPDX-License-Identifier: Apache-2.0
//
// Allreduce of long vectors: a reduce-scatter by recursive halving, then an allgather by recursive
// doubling. Every element is reduced by one rank only, so all ranks get the same bits.
//
// source   Rabenseifner: Optimization of collective reduction operations, ICCS 2004, section 2;
//          folding.h for p that is no power of two
// cost     T = 2d * alpha + 2n(q-1)/q * beta + n(q-1)/q * gamma with q = 2^d the power of two;
//          if p > q: + 2 * (alpha + n*beta) + n*gamma
// legal    any p, count, type; commutative operations; MPI_IN_PLACE
// example  p = 5, n = 8 elements: 0 -> 1; of the active ranks 1,2,3,4: 1 <-> 3, 2 <-> 4 exchange
//          halves {0..4},{4..8}; 1 <-> 2, 3 <-> 4 exchange quarters; then back: quarters, halves; 1
//          -> 0.
#include <algorithm>

#include "coll/messages/algorithms.h"
#include "coll/messages/folding.h"

namespace weft::coll {

void allreduce_rabenseifner(Schedule& s, const Operands& x, Position me) {
  const Folding fold(me.size);
  const Type& type = *x.type;
  const bool in_place = is_in_place(x.send);
  const void* value = in_place ? x.recv : x.send;
  if (fold.is_passive(me.rank)) {
    s.send({value, x.count, &type}, me.rank + 1);
    s.next_round();
    s.recv({x.recv, x.count, &type}, me.rank + 1);
    s.next_round();
    return;
  }
  if (fold.power == 1 && !in_place) s.copy({x.send, x.count, &type}, {x.recv, x.count, &type});

  // Received data is reduced into the user's buffer; as long as that is free (our own operand is
  // still in the send buffer) it is received there at once.
  void* temporary = nullptr;
  const auto fold_in = [&](std::int64_t first, std::int64_t n, int from) {
    void* mine = element(x.recv, first, type);
    if (value != x.recv) {
      s.recv({mine, n, &type}, from);
      s.next_round();
      s.reduce(element(value, first, type), mine, n, type, *x.op);
    } else {
      if (temporary == nullptr) temporary = s.elements(n, type);  // later ones are smaller
      s.recv({temporary, n, &type}, from);
      s.next_round();
      s.reduce(temporary, mine, n, type, *x.op);
    }
    s.next_round();
    value = x.recv;
  };
  if (fold.is_host(me.rank)) fold_in(0, x.count, me.rank - 1);

  const int active = fold.active_of(me.rank);
  const auto begin = [&](int i) {  // of piece i of `power` pieces
    return x.count / fold.power * i + std::min<std::int64_t>(i, x.count % fold.power);
  };
  int low = 0, high = fold.power;  // pieces that are ours to reduce
  for (int bit = fold.power / 2; bit > 0; bit /= 2) {
    const int partner = fold.rank_of(active ^ bit);
    const int middle = low + bit;
    const bool upper = (active & bit) != 0;
    const int give = upper ? low : middle;
    s.send({element(value, begin(give), type), begin(give + bit) - begin(give), &type}, partner);
    (upper ? low : high) = middle;
    fold_in(begin(low), begin(high) - begin(low), partner);
  }
  for (int bit = 1; bit < fold.power; bit *= 2) {
    const int partner = fold.rank_of(active ^ bit);
    const int theirs = (active & bit) != 0 ? low - bit : high;
    s.send({element(x.recv, begin(low), type), begin(high) - begin(low), &type}, partner);
    s.recv({element(x.recv, begin(theirs), type), begin(theirs + bit) - begin(theirs), &type},
           partner);
    s.next_round();
    low = std::min(low, theirs);
    high = low + 2 * bit;
  }
  if (fold.is_host(me.rank)) s.send({x.recv, x.count, &type}, me.rank - 1);
  s.next_round();
}

}  // namespace weft::coll
