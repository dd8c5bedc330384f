// SPDX-License-Identifier: Apache-2.0
//
// All algorithms. Each emits the caller's part of one operation into a schedule; each is in the
// file of its name, with source, cost (T of p ranks and n bytes), legal inputs and an example. The
// bytes of a call are everywhere: the whole vector for bcast, reduce, allreduce, scan; one rank's
// block for gather, scatter, allgather, alltoall; the whole operand for reduce_scatter.
//
// MPI_IN_PLACE is legal wherever the standard allows it. `root` is a rank of the group.
#pragma once

#include "coll/blocks.h"
#include "coll/schedule.h"
#include "object/topology.h"

namespace weft::coll {

void barrier_dissemination(Schedule& s, Position me);

void bcast_binomial(Schedule& s, const Buffer& buffer, int root, Position me);
void bcast_scatter_allgather(Schedule& s, const Buffer& buffer, int root, Position me);

void gather_linear(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root, Position me);
void gather_binomial(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                     Position me);

void scatter_linear(Schedule& s, const Blocks& send, const Buffer& recv, int root, Position me);
void scatter_binomial(Schedule& s, const Blocks& send, const Buffer& recv, int root, Position me);

void allgather_ring(Schedule& s, const ConstBuffer& send, const Blocks& recv, Position me);
/// Uniform blocks only.
void allgather_bruck(Schedule& s, const ConstBuffer& send, const Blocks& recv, Position me);

void alltoall_pairwise(Schedule& s, const Blocks& send, const Blocks& recv, Position me);
void alltoall_scattered(Schedule& s, const Blocks& send, const Blocks& recv, Position me);
/// Uniform blocks only.
void alltoall_bruck(Schedule& s, const Blocks& send, const Blocks& recv, Position me);

void reduce_binomial(Schedule& s, const Operands& x, int root, Position me);
void reduce_ordered(Schedule& s, const Operands& x, int root, Position me);

void allreduce_recursive_doubling(Schedule& s, const Operands& x, Position me);
/// Commutative operations only.
void allreduce_rabenseifner(Schedule& s, const Operands& x, Position me);
void allreduce_ordered(Schedule& s, const Operands& x, Position me);

/// Commutative operations only.
void reduce_scatter_pairwise(Schedule& s, const Operands& x, const Parts& parts, Position me);
void reduce_scatter_rooted(Schedule& s, const Operands& x, const Parts& parts, Position me);
void reduce_scatter_ordered(Schedule& s, const Operands& x, const Parts& parts, Position me);

void scan_recursive_doubling(Schedule& s, const Operands& x, Position me);
void exscan_recursive_doubling(Schedule& s, const Operands& x, Position me);
void scan_linear(Schedule& s, const Operands& x, Position me);
void exscan_linear(Schedule& s, const Operands& x, Position me);

/// Neighborhood collectives. Block i of `recv` belongs to source i, block i of `send` to
/// destination i.
void neighbor_allgather_direct(Schedule& s, const ConstBuffer& send, const Blocks& recv,
                               const object::Neighbors& n);
void neighbor_alltoall_direct(Schedule& s, const Blocks& send, const Blocks& recv,
                              const object::Neighbors& n);

// Between the two groups of an intercommunicator. `me` is the place in the local group, `remote`
// the size of the other one; `root` is MPI_ROOT, MPI_PROC_NULL or a rank of the remote group.
void barrier_inter(Schedule& s, Position me, int remote);
void bcast_inter(Schedule& s, const Buffer& buffer, int root, int remote);
void gather_inter(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root, int remote);
void scatter_inter(Schedule& s, const Blocks& send, const Buffer& recv, int root, int remote);
void allgather_inter(Schedule& s, const ConstBuffer& send, const Blocks& recv, Position me,
                     int remote);
void alltoall_inter(Schedule& s, const Blocks& send, const Blocks& recv, Position me, int remote);
void reduce_inter(Schedule& s, const Operands& x, int root, int remote);
void allreduce_inter(Schedule& s, const Operands& x, Position me, int remote);
/// `parts` is this group's; it sums to the same number of elements as the other group's.
void reduce_scatter_inter(Schedule& s, const Operands& x, const Parts& parts, Position me,
                          int remote);

}  // namespace weft::coll
