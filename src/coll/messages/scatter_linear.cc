// SPDX-License-Identifier: Apache-2.0
//
// Scatter and scatterv: the root sends to everybody.
//
// source   Chan et al., CCPE 19(13), 2007, section 3 (lower bounds): optimal in bytes, not in
//          messages
// cost     T = (p-1) * (alpha + n*beta)
// legal    any p, root, counts, types; MPI_IN_PLACE at the root
// example  p = 3, root 1: 1 -> 0, 1 -> 2; the root copies its own block meanwhile.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void scatter_linear(Schedule& s, const Blocks& send, const Buffer& recv, int root, Position me) {
  if (me.rank != root) {
    s.recv(recv, root);
  } else {
    for (int i = 0; i < me.size; ++i)
      if (i != root) s.send(send[i], i);
    if (!is_in_place(recv.data)) s.copy(send[root], recv);
  }
  s.next_round();
}

}  // namespace weft::coll
