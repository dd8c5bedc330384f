// SPDX-License-Identifier: Apache-2.0
//
// Allgather of small blocks by Bruck's algorithm; blocks travel packed, counted from the own one.
//
// source   Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications
//          in multiport message-passing systems, IEEE TPDS 8(11), 1997, section 4
// cost     T = ceil(log2 p) * alpha + (p-1)n * beta
// legal    any p, uniform count, type; MPI_IN_PLACE
// example  p = 5, rank 0: round 1: {0} to 4, {1} from 1; round 2: {0,1} to 3, {2,3} from 2;
//          round 3: {0} to 1, {4} from 4. Then blocks 0..4 of "counted from me" go to their places.
#include <algorithm>

#include "coll/messages/algorithms.h"

namespace weft::coll {

void allgather_bruck(Schedule& s, const ConstBuffer& send, const Blocks& recv, Position me) {
  const int p = me.size;
  const Buffer own = recv[me.rank];
  const std::int64_t n = own.bytes();
  std::byte* packed = s.bytes(p * n);
  s.copy(contribution(send, own), as_bytes(packed, n));
  s.next_round();
  for (int have = 1; have < p; have *= 2) {
    const int blocks = std::min(have, p - have);
    s.send(as_bytes(packed, blocks * n), (me.rank - have + p) % p);
    s.recv(as_bytes(packed + have * n, blocks * n), (me.rank + have) % p);
    s.next_round();
  }
  // Packed block i belongs to rank (me + i) % p: two runs.
  const int run = p - me.rank;
  s.copy(as_bytes(packed, run * n), {own.data, run * own.count, own.type});
  s.copy(as_bytes(packed + run * n, me.rank * n), {recv[0].data, me.rank * own.count, own.type});
  s.next_round();
}

}  // namespace weft::coll
