// SPDX-License-Identifier: Apache-2.0
//
// Allgather and allgatherv around a ring: each round passes on the block that came last.
//
// source   Chan et al., CCPE 19(13), 2007, section 5.2 (bucket allgather); Thakur et al., IJHPCA
//          19(1), 2005, section 3.1
// cost     T = (p-1) * (alpha + n*beta)
// legal    any p, counts, types; MPI_IN_PLACE
// example  p = 3, rank 0: round 1 sends {0} to 1, receives {2} from 2; round 2 sends {2}, receives
//          {1}.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void allgather_ring(Schedule& s, const ConstBuffer& send, const Blocks& recv, Position me) {
  const int p = me.size;
  const int next = (me.rank + 1) % p;
  const int previous = (me.rank - 1 + p) % p;
  const bool in_place = is_in_place(send.data);
  if (!in_place) s.copy(send, recv[me.rank]);
  for (int i = 0; i < p - 1; ++i) {
    const int out = (me.rank - i + p) % p;
    // The first round sends from the user's send buffer while the copy above is made.
    s.send(i == 0 && !in_place ? send : ConstBuffer(recv[out]), next);
    s.recv(recv[(out - 1 + p) % p], previous);
    s.next_round();
  }
  s.next_round();
}

}  // namespace weft::coll
