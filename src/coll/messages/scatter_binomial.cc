// SPDX-License-Identifier: Apache-2.0
//
// Scatter of small blocks down a binomial tree; blocks travel packed.
//
// source   Chan et al., CCPE 19(13), 2007, section 4.2 (minimum spanning tree scatter)
// cost     T = ceil(log2 p) * alpha + (p-1)n * beta
// legal    any p, root, uniform count, type; MPI_IN_PLACE at the root
// example  p = 5, root 0: round 1: 0 -> 4 {4}; round 2: 0 -> 2 {2,3}; round 3: 0 -> 1 {1}, 2 -> 3
//          {3}. With another root, ranks are counted from the root.
#include <algorithm>

#include "coll/messages/algorithms.h"

namespace weft::coll {

void scatter_binomial(Schedule& s, const Blocks& send, const Buffer& recv, int root, Position me) {
  const int p = me.size;
  const int v = (me.rank - root + p) % p;
  const bool is_root = v == 0;
  const std::int64_t n = is_root ? send[root].bytes() : recv.bytes();

  int last = 1;
  while (last < p && (v & last) == 0) last *= 2;
  const int subtree = std::min(last, p - v);
  if (!is_root && subtree == 1) {  // a leaf
    s.recv(recv, (v - last + root) % p);
    s.next_round();
    return;
  }

  std::byte* packed = s.bytes(subtree * n);
  if (is_root) {
    for (int i = 1; i < p; ++i) s.copy(send[(i + root) % p], as_bytes(packed + i * n, n));
    if (!is_in_place(recv.data)) s.copy(send[root], recv);
  } else {
    s.recv(as_bytes(packed, subtree * n), (v - last + root) % p);
  }
  s.next_round();
  for (int bit = last / 2; bit > 0; bit /= 2)
    if (v + bit < p)
      s.send(as_bytes(packed + bit * n, std::min(bit, p - v - bit) * n), (v + bit + root) % p);
  if (!is_root) s.copy(as_bytes(packed, n), recv);
  s.next_round();
}

}  // namespace weft::coll
