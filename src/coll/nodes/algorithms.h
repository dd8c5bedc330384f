// SPDX-License-Identifier: Apache-2.0
//
// Collectives across nodes, composed of phases (phases.h). Each emits the caller's part of one
// operation. In the costs N nodes of q ranks, n bytes as in messages/algorithms.h, A(x) a phase on
// a node, B(x) one between nodes, of x bytes.
#pragma once

#include "coll/blocks.h"
#include "coll/nodes/phases.h"

namespace weft::coll {

// moves.cc
void barrier_nodes(Schedule& s, const Across& at);
void bcast_nodes(Schedule& s, const Buffer& buffer, int root, const Across& at);
/// Blocks of any sizes, these four.
void gather_nodes(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                  const Across& at);
void scatter_nodes(Schedule& s, const Blocks& send, const Buffer& recv, int root, const Across& at);
void allgather_nodes(Schedule& s, const ConstBuffer& send, const Blocks& recv, const Across& at);
void alltoall_nodes(Schedule& s, const Blocks& send, const Blocks& recv, const Across& at);
/// Blocks of one size, nodes of as many ranks.
void alltoall_parts(Schedule& s, const Blocks& send, const Blocks& recv, const Across& at);

// uneven.cc: blocks that are not of one size go this way
void gatherv_nodes(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                   const Across& at);
void scatterv_nodes(Schedule& s, const Blocks& send, const Buffer& recv, int root,
                    const Across& at);
void alltoallv_nodes(Schedule& s, const Blocks& send, const Blocks& recv, const Across& at);

// reductions.cc; commutative operations only
void reduce_nodes(Schedule& s, const Operands& x, int root, const Across& at);
void allreduce_nodes(Schedule& s, const Operands& x, const Across& at);
/// Several leaders: each rank of a node (up to as many as the smallest node has) a part.
void allreduce_parts(Schedule& s, const Operands& x, const Across& at);
void reduce_scatter_nodes(Schedule& s, const Operands& x, const Parts& parts, const Across& at);
/// Nodes in rows only, these two.
void scan_nodes(Schedule& s, const Operands& x, const Across& at);
void exscan_nodes(Schedule& s, const Operands& x, const Across& at);

// segments.cc: long vectors, of which one segment is between nodes while others are on them
void bcast_segments(Schedule& s, const Buffer& buffer, int root, const Across& at);
/// Commutative operations only, these two.
void reduce_segments(Schedule& s, const Operands& x, int root, const Across& at);
void allreduce_segments(Schedule& s, const Operands& x, const Across& at);

}  // namespace weft::coll
