// SPDX-License-Identifier: Apache-2.0
//
// Alltoall of small blocks by Bruck's algorithm: few messages, each block travels several times.
//
// source   Bruck et al., IEEE TPDS 8(11), 1997, section 3
// cost     T = ceil(log2 p) * alpha + n * (sum over bits b < p of the numbers in 1..p-1 with bit b)
//          * beta
// legal    any p, uniform count, type; MPI_IN_PLACE
// example  p = 5, rank 0: slot d holds the block that has d ranks still to go. Round 1 sends slots
//          {1,3} one rank on; round 2 slots {2,3} two ranks on; round 3 slot {4} four ranks on.
//          Then slot d holds the block that came from d ranks before.
#include "coll/messages/algorithms.h"

namespace weft::coll {
namespace {

int slots_of(int p, int bit) {
  int n = 0;
  for (int d = 1; d < p; ++d) n += (d & bit) != 0;
  return n;
}

}  // namespace

void alltoall_bruck(Schedule& s, const Blocks& send, const Blocks& recv, Position me) {
  const int p = me.size;
  const Blocks& source = send.in_place() ? recv : send;
  const std::int64_t n = recv[0].bytes();
  std::byte* slots = s.bytes(p * n);
  std::byte* out = s.bytes(slots_of(p, 1) * n);
  std::byte* in = s.bytes(slots_of(p, 1) * n);
  for (int d = 1; d < p; ++d) s.copy(source[(me.rank + d) % p], as_bytes(slots + d * n, n));
  if (!send.in_place()) s.copy(send[me.rank], recv[me.rank]);
  s.next_round();
  for (int bit = 1; bit < p; bit *= 2) {
    int k = 0;
    for (int d = 1; d < p; ++d)
      if ((d & bit) != 0) s.copy(as_bytes(slots + d * n, n), as_bytes(out + k++ * n, n));
    s.next_round();
    s.send(as_bytes(out, k * n), (me.rank + bit) % p);
    s.recv(as_bytes(in, k * n), (me.rank - bit + p) % p);
    s.next_round();
    k = 0;
    for (int d = 1; d < p; ++d)
      if ((d & bit) != 0) s.copy(as_bytes(in + k++ * n, n), as_bytes(slots + d * n, n));
    s.next_round();
  }
  for (int d = 1; d < p; ++d) s.copy(as_bytes(slots + d * n, n), recv[(me.rank - d + p) % p]);
  s.next_round();
}

}  // namespace weft::coll
