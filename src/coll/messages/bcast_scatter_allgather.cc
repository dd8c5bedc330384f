// SPDX-License-Identifier: Apache-2.0
//
// Broadcast of a long vector: a binomial scatter of p pieces, then a ring allgather of them.
//
// source   van de Geijn's long-vector broadcast: Chan et al., CCPE 19(13), 2007, section 6.1;
//          Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in
//          MPICH, IJHPCA 19(1), 2005, section 3.3
// cost     T = (ceil(log2 p) + p - 1) * alpha + 2n(p-1)/p * beta
// legal    any p, root, count, type; pieces are bytes of the packed form, so a type that is not
//          dense is packed once at the root and unpacked once elsewhere
// example  p = 3, n = 7 bytes, pieces of 3: scatter 0 -> 2 {6..7}, 0 -> 1 {3..6};
//          ring: 0 sends {0..3} to 1, 1 sends {3..6} to 2, 2 sends {6..7} to 0, then each passes on
//          what it received.
#include <algorithm>

#include "coll/messages/algorithms.h"

namespace weft::coll {

void bcast_scatter_allgather(Schedule& s, const Buffer& buffer, int root, Position me) {
  const int p = me.size;
  const std::int64_t n = buffer.bytes();
  const std::int64_t piece = (n + p - 1) / p;
  const int v = (me.rank - root + p) % p;
  const auto rank_of = [&](int relative) { return (relative + root) % p; };
  const auto begin = [&](int i) { return std::min<std::int64_t>(i * piece, n); };

  const bool dense = buffer.type->dense;
  std::byte* data = dense ? datatype::block(buffer) : s.bytes(n);
  if (!dense && v == 0) s.copy(buffer, as_bytes(data, n));
  s.next_round();

  // Rank v of the tree gets the pieces v .. v + bit - 1.
  int bit = 1;
  while (bit < p && (v & bit) == 0) bit *= 2;
  const auto pieces = [&](int from, int to) {
    return as_bytes(data + begin(from), begin(std::min(to, p)) - begin(from));
  };
  if (v != 0) s.recv(pieces(v, v + bit), rank_of(v - bit));
  s.next_round();
  for (bit /= 2; bit > 0; bit /= 2)
    if (v + bit < p) s.send(pieces(v + bit, v + 2 * bit), rank_of(v + bit));
  s.next_round();

  for (int i = 0; i < p - 1; ++i) {
    const int out = (v - i + p) % p;
    const int in = (v - i - 1 + p) % p;
    s.send(pieces(out, out + 1), rank_of((v + 1) % p));
    s.recv(pieces(in, in + 1), rank_of((v - 1 + p) % p));
    s.next_round();
  }
  if (!dense && v != 0) s.copy(as_bytes(data, n), buffer);
  s.next_round();
}

}  // namespace weft::coll
