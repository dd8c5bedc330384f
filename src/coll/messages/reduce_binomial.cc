// SPDX-License-Identifier: Apache-2.0
//
// Reduce up a binomial tree. A rank's value covers a run of ranks that starts with its own, and
// what it receives covers the run behind that, so the operands keep the order of the ranks. An
// operation that does not commute is reduced at rank 0 and sent to the root; otherwise the tree is
// turned so that the root is on top.
//
// source   Chan et al., CCPE 19(13), 2007, section 4.1 (minimum spanning tree reduce)
// cost     T = ceil(log2 p) * (alpha + n*beta + n*gamma)
//          plus one message if the operation does not commute and root != 0
// legal    any p, root, count, type, operation; MPI_IN_PLACE at the root
// example  p = 5, root 0: 1 -> 0 {0,1}, 3 -> 2 {2,3}; 2 -> 0 {0..3}; 4 -> 0 {0..4}.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void reduce_binomial(Schedule& s, const Operands& x, int root, Position me) {
  const int p = me.size;
  const int top = x.op->commutative ? root : 0;
  const int v = (me.rank - top + p) % p;
  const void* value = operand(x);
  const auto vector_at = [&](void* data) { return Buffer{data, x.count, x.type}; };

  // Two homes for the value, used in turn; the last of the root's is the user's buffer if possible.
  const bool at_root = v == 0 && top == root;
  void* home[2] = {at_root ? x.recv : nullptr, nullptr};
  int turn = at_root && (value == x.recv || log2_ceil(p) % 2 == 0) ? 1 : 0;
  for (int bit = 1; bit < p; bit *= 2) {
    if ((v & bit) != 0) {
      s.send({value, x.count, x.type}, (v - bit + top) % p);
      break;
    }
    if (v + bit >= p) continue;
    if (home[turn] == nullptr) home[turn] = s.elements(x.count, *x.type);
    s.recv(vector_at(home[turn]), (v + bit + top) % p);
    s.next_round();
    s.reduce(value, home[turn], x.count, *x.type, *x.op);
    s.next_round();
    value = home[turn];
    turn = 1 - turn;
  }
  s.next_round();
  if (top != root) {
    if (me.rank == top) s.send({value, x.count, x.type}, root);
    if (me.rank == root) s.recv(vector_at(x.recv), top);
  } else if (at_root && value != x.recv) {
    s.copy({value, x.count, x.type}, vector_at(x.recv));
  }
  s.next_round();
}

}  // namespace weft::coll
