// SPDX-License-Identifier: Apache-2.0
//
// Barrier by dissemination.
//
// source   Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, IJPP 17(1), 1988
// cost     T = ceil(log2 p) * alpha
// legal    any p
// example  p = 5, rank 0: round 1 tells 1 and hears 4; round 2 tells 2 and hears 3; round 3 tells 4
//          and hears 1. After round k it has heard, directly or not, of 2^k ranks:
//          {4}, then {2, 3}, then {0, 1} of which 1 is new.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void barrier_dissemination(Schedule& s, Position me) {
  const int p = me.size;
  for (int distance = 1; distance < p; distance *= 2) {
    s.notify((me.rank + distance) % p);
    s.await((me.rank - distance + p) % p);
    s.next_round();
  }
}

}  // namespace weft::coll
