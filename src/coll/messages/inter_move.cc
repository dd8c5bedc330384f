// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move data between the two groups of an intercommunicator. Messages can only
// cross from one group to the other, and every block has to cross once, so each goes straight to
// its rank.
//
// source   MPI-5.0 section 6.2.3 (who sends to whom)
// cost     rooted: T = q * (alpha + n*beta) at the root, q the size of the other group;
//          all-to-all forms: the same at every rank
// legal    any sizes of the groups, counts, types; root is MPI_ROOT, MPI_PROC_NULL or a remote rank
// example  groups {a0,a1} and {b0,b1,b2}, bcast from b1: b1 sends to a0 and a1; b0 and b2 pass
//          MPI_PROC_NULL and do nothing.
#include "coll/messages/algorithms.h"

namespace weft::coll {

void bcast_inter(Schedule& s, const Buffer& buffer, int root, int remote) {
  if (root == MPI_ROOT) {
    for (int i = 0; i < remote; ++i) s.send(buffer, i);
  } else if (root != MPI_PROC_NULL) {
    s.recv(buffer, root);
  }
  s.next_round();
}

void gather_inter(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root, int remote) {
  if (root == MPI_ROOT) {
    for (int i = 0; i < remote; ++i) s.recv(recv[i], i);
  } else if (root != MPI_PROC_NULL) {
    s.send(send, root);
  }
  s.next_round();
}

void scatter_inter(Schedule& s, const Blocks& send, const Buffer& recv, int root, int remote) {
  if (root == MPI_ROOT) {
    for (int i = 0; i < remote; ++i) s.send(send[i], i);
  } else if (root != MPI_PROC_NULL) {
    s.recv(recv, root);
  }
  s.next_round();
}

void allgather_inter(Schedule& s, const ConstBuffer& send, const Blocks& recv, Position me,
                     int remote) {
  for (int i = 0; i < remote; ++i) {
    const int peer = (me.rank + i) % remote;  // not everybody at rank 0 first
    s.send(send, peer);
    s.recv(recv[peer], peer);
  }
  s.next_round();
}

void alltoall_inter(Schedule& s, const Blocks& send, const Blocks& recv, Position me, int remote) {
  for (int i = 0; i < remote; ++i) {
    const int peer = (me.rank + i) % remote;
    s.send(send[peer], peer);
    s.recv(recv[peer], peer);
  }
  s.next_round();
}

}  // namespace weft::coll
