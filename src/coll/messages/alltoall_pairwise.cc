// SPDX-License-Identifier: Apache-2.0
//
// Alltoall, alltoallv and alltoallw: in round i everybody sends to the rank i further on. Pairwise,
// one round after the other; scattered, several at once, so that a rank that is late, or a
// message's latency, holds up less. In step, ranks of one round meet least where a fabric is thin.
//
// source   Thakur et al., IJHPCA 19(1), 2005, section 3.4 (pairwise exchange, without the power of
//          two; posting all at once, there for medium sizes)
// cost     T = (p-1) * (alpha + n*beta); scattered, the latencies in alpha once in at_once rounds
// legal    any p, counts, types; MPI_IN_PLACE (outgoing blocks are packed first)
// example  p = 3, rank 0: copies its own block and round 1 sends to 1, receives from 2; round 2
//          sends to 2, receives from 1.
#include "coll/limits.h"
#include "coll/messages/algorithms.h"

namespace weft::coll {

namespace {

void exchange(Schedule& s, const Blocks& send, const Blocks& recv, Position me, int at_once) {
  const int p = me.size;
  std::byte* packed = nullptr;
  std::int64_t* at = nullptr;  // packed block i is at packed + at[i]
  if (send.in_place()) {
    at = reinterpret_cast<std::int64_t*>(s.bytes((p + 1) * std::int64_t{sizeof(std::int64_t)}));
    at[0] = 0;
    for (int i = 0; i < p; ++i) at[i + 1] = at[i] + (i == me.rank ? 0 : recv[i].bytes());
    packed = s.bytes(at[p]);
    for (int i = 0; i < p; ++i)
      if (i != me.rank) s.copy(recv[i], as_bytes(packed + at[i], at[i + 1] - at[i]));
    s.next_round();
  } else {
    s.copy(send[me.rank], recv[me.rank]);
  }
  for (int i = 1; i < p; ++i) {
    const int to = (me.rank + i) % p;
    const int from = (me.rank - i + p) % p;
    s.send(packed != nullptr ? ConstBuffer(as_bytes(packed + at[to], at[to + 1] - at[to]))
                             : ConstBuffer(send[to]),
           to);
    s.recv(recv[from], from);
    if (i % at_once == 0) s.next_round();
  }
  s.next_round();
}

}  // namespace

void alltoall_pairwise(Schedule& s, const Blocks& send, const Blocks& recv, Position me) {
  exchange(s, send, recv, me, 1);
}

void alltoall_scattered(Schedule& s, const Blocks& send, const Blocks& recv, Position me) {
  exchange(s, send, recv, me, rounds_at_once);
}

}  // namespace weft::coll
