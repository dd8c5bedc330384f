// SPDX-License-Identifier: Apache-2.0
//
// Broadcast along a binomial tree.
//
// source   Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice,
//          and experience, CCPE 19(13), 2007, section 4.1 (minimum spanning tree)
// cost     T = ceil(log2 p) * (alpha + n*beta)
// legal    any p, root, count, type
// example  p = 6, root 0: round 1: 0 -> 4; round 2: 0 -> 2; round 3: 0 -> 1, 2 -> 3, 4 -> 5.
//          With another root, ranks are counted from the root.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void bcast_binomial(Schedule& s, const Buffer& buffer, int root, Position me) {
  const int p = me.size;
  const int v = (me.rank - root + p) % p;
  int bit = 1;
  while (bit < p && (v & bit) == 0) bit *= 2;
  if (v != 0) s.recv(buffer, (v - bit + root) % p);
  s.next_round();
  for (bit /= 2; bit > 0; bit /= 2)
    if (v + bit < p) s.send(buffer, (v + bit + root) % p);
  s.next_round();
}

}  // namespace weft::coll
