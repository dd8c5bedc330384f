// SPDX-License-Identifier: Apache-2.0
//
// Gather of small blocks up a binomial tree; blocks travel packed.
//
// source   Chan et al., CCPE 19(13), 2007, section 4.2 (minimum spanning tree gather)
// cost     T = ceil(log2 p) * alpha + (p-1)n * beta
// legal    any p, root, uniform count, type; MPI_IN_PLACE at the root
// example  p = 5, root 0: round 1: 1 -> 0 {1}, 3 -> 2 {3}; round 2: 2 -> 0 {2,3}; round 3: 4 -> 0
//          {4}. With another root, ranks are counted from the root, which puts the blocks in order.
#include <algorithm>

#include "coll/messages/algorithms.h"

namespace weft::coll {

void gather_binomial(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                     Position me) {
  const int p = me.size;
  const int v = (me.rank - root + p) % p;
  const bool is_root = v == 0;
  const std::int64_t n = is_root ? recv[root].bytes() : send.bytes();

  int last = 1;  // the subtree of v is v .. v + last - 1
  while (last < p && (v & last) == 0) last *= 2;
  const int subtree = std::min(last, p - v);
  if (!is_root && subtree == 1) {  // a leaf
    s.send(send, (v - last + root) % p);
    s.next_round();
    return;
  }

  std::byte* packed = s.bytes(subtree * n);
  if (!is_root)
    s.copy(send, as_bytes(packed, n));
  else if (!is_in_place(send.data))
    s.copy(send, recv[root]);
  for (int bit = 1; bit < last && v + bit < p; bit *= 2) {
    const int blocks = std::min(bit, p - v - bit);
    s.recv(as_bytes(packed + bit * n, blocks * n), (v + bit + root) % p);
    s.next_round();
  }
  if (is_root) {
    for (int i = 1; i < p; ++i) s.copy(as_bytes(packed + i * n, n), recv[(i + root) % p]);
  } else {
    s.send(as_bytes(packed, subtree * n), (v - last + root) % p);
  }
  s.next_round();
}

}  // namespace weft::coll
