// SPDX-License-Identifier: Apache-2.0
//
// Gather and gatherv: everybody sends to the root.
//
// source   Chan et al., CCPE 19(13), 2007, section 3 (lower bounds): optimal in bytes, not in
//          messages
// cost     T = (p-1) * (alpha + n*beta)
// legal    any p, root, counts, types; MPI_IN_PLACE at the root
// example  p = 3, root 1: 0 -> 1, 2 -> 1; the root copies its own block meanwhile.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void gather_linear(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                   Position me) {
  if (me.rank != root) {
    s.send(send, root);
  } else {
    for (int i = 0; i < me.size; ++i)
      if (i != root) s.recv(recv[i], i);
    if (!is_in_place(send.data)) s.copy(send, recv[root]);
  }
  s.next_round();
}

}  // namespace weft::coll
