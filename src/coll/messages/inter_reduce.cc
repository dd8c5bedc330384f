// SPDX-License-Identifier: Apache-2.0
//
// Barrier and reductions between the two groups of an intercommunicator. A group's data is reduced
// at rank 0 of the other group, in rank order. That rank cannot reach its own group, so it hands
// the result to rank 0 of the first group, which sends it to everybody on the other side.
//
// source   MPI-5.0 section 6.2.3 (a group gets the reduction of the other group's data)
// cost     groups of p and q: T = (p + q + 1) * (alpha + n*beta) + max(p,q)*n*gamma; barrier: n = 0
// legal    any sizes of the groups, counts, types, operations
// example  A = {a0,a1}, B = {b0,b1,b2}, allreduce: a0, a1 -> b0 (reduces A's data), b0 -> a0, a0 ->
//          b1, b2; and the same with A and B exchanged.
#include "coll/messages/algorithms.h"

namespace weft::coll {
namespace {

/// Receive the operand of every remote rank and reduce them in rank order. Returns where the result
/// is. The caller has not ended its round: the first operand is received in it.
const void* reduce_from_remote(Schedule& s, const Operands& x, int remote) {
  void* home[2] = {s.elements(x.count, *x.type),
                   remote > 1 ? s.elements(x.count, *x.type) : nullptr};
  for (int i = 0; i < remote; ++i) {
    s.recv({home[i % 2], x.count, x.type}, i);
    s.next_round();
    if (i > 0) s.reduce(home[(i - 1) % 2], home[i % 2], x.count, *x.type, *x.op);
    s.next_round();
  }
  return home[(remote - 1) % 2];
}

/// Everybody gets the reduction of the other group's data in x.recv.
void exchange_reductions(Schedule& s, const Operands& x, Position me, int remote) {
  const Buffer result{x.recv, x.count, x.type};
  s.send({x.send, x.count, x.type}, 0);
  if (me.rank != 0) {
    s.recv(result, 0);
    s.next_round();
    return;
  }
  const ConstBuffer theirs{reduce_from_remote(s, x, remote), x.count, x.type};
  const Buffer ours{s.elements(x.count, *x.type), x.count, x.type};
  s.send(theirs, 0);
  s.recv(ours, 0);
  s.copy(theirs, result);
  s.next_round();
  for (int i = 1; i < remote; ++i) s.send(ours, i);
  s.next_round();
}

}  // namespace

void barrier_inter(Schedule& s, Position me, int remote) {
  s.notify(0);
  if (me.rank != 0) {
    s.await(0);
    s.next_round();
    return;
  }
  for (int i = 0; i < remote; ++i) s.await(i);
  s.next_round();
  s.notify(0);
  s.await(0);
  s.next_round();
  for (int i = 1; i < remote; ++i) s.notify(i);
  s.next_round();
}

void reduce_inter(Schedule& s, const Operands& x, int root, int remote) {
  if (root == MPI_ROOT) {
    const void* result = reduce_from_remote(s, x, remote);
    s.copy({result, x.count, x.type}, {x.recv, x.count, x.type});
  } else if (root != MPI_PROC_NULL) {
    s.send({x.send, x.count, x.type}, root);
  }
  s.next_round();
}

void allreduce_inter(Schedule& s, const Operands& x, Position me, int remote) {
  exchange_reductions(s, x, me, remote);
}

void reduce_scatter_inter(Schedule& s, const Operands& x, const Parts& parts, Position me,
                          int remote) {
  const std::int64_t total = parts.before(me.size);
  const Operands whole{x.send, s.elements(total, *x.type), total, x.type, x.op};
  exchange_reductions(s, whole, me, remote);
  s.copy({element(whole.recv, parts.before(me.rank), *x.type), parts[me.rank], x.type},
         {x.recv, parts[me.rank], x.type});
  s.next_round();
}

}  // namespace weft::coll
