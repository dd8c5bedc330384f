// SPDX-License-Identifier: Apache-2.0
//
// Algorithms through shared memory along the node's levels. Each emits the caller's part of one
// operation at a board into a schedule, and is in the file of its name with source, reads, steps
// and legal inputs. In the formulas p ranks, s groups of q ranks each, m lines, n-ary trees.
// Reductions: operations that commute (scans: any), on types without gaps (`is_plain`).
//
// source   Li, Hoefler, Snir: NUMA-Aware Shared-Memory Collective Communication for MPI, HPDC 2013
#pragma once

#include "coll/blocks.h"
#include "coll/boards/node.h"

namespace weft::coll {

/// What a tree joins in one step unless another arity is asked for. The paper found 2 best for
/// reductions; flags of four ranks are read at once.
inline constexpr int reduce_arity = 2, bcast_arity = 4, barrier_arity = 4;

void barrier_tree(Schedule& s, const Site& node);
/// Its two halves: rank 0 knows that all have come; all know that rank 0 goes on.
void barrier_arrive(Schedule& s, const Site& node);
void barrier_leave(Schedule& s, const Site& node);

void bcast_one_stage(Schedule& s, const Buffer& buffer, int root, const Site& node);
void bcast_two_stage(Schedule& s, const Buffer& buffer, int root, const Site& node);
void bcast_tree(Schedule& s, const Buffer& buffer, int root, const Site& node, int arity);

/// Elements follow each other without gaps, so that a strip of bytes is an array of them.
inline bool is_plain(const Type& type) {
  return type.dense && type.true_lb == 0 && type.extent == type.size && type.size > 0 &&
         type.size <= 64;
}

void reduce_tree(Schedule& s, const Operands& x, int root, const Site& node, int arity);
void allreduce_tree(Schedule& s, const Operands& x, const Site& node, int arity);
/// Everybody reads the result from rank 0.
void allreduce_tree_one_stage(Schedule& s, const Operands& x, const Site& node, int arity);
void reduce_tiled_naive(Schedule& s, const Operands& x, int root, const Site& node);
void reduce_tiled_cyclic(Schedule& s, const Operands& x, int root, const Site& node);
void reduce_tiled_hierarchical(Schedule& s, const Operands& x, int root, const Site& node);
void allreduce_tiled_naive(Schedule& s, const Operands& x, const Site& node);
void allreduce_tiled_cyclic(Schedule& s, const Operands& x, const Site& node);
void allreduce_tiled_hierarchical(Schedule& s, const Operands& x, const Site& node);
void allreduce_dissemination(Schedule& s, const Operands& x, const Site& node);

void scan_chain(Schedule& s, const Operands& x, const Site& node);
void exscan_chain(Schedule& s, const Operands& x, const Site& node);

// Everybody reads what it is to get from whoever has it; blocks of any sizes and types.
void gather_exchange(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                     const Site& node);
/// The same with blocks of one length, which all know, one behind the other at the root's `all`;
/// not compared.
void gather_known(Schedule& s, const ConstBuffer& mine, std::byte* all, int root, const Site& node);
void scatter_exchange(Schedule& s, const Blocks& send, const Buffer& recv, int root,
                      const Site& node);
/// Uniform blocks only.
void gather_two_stage(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                      const Site& node);
void scatter_two_stage(Schedule& s, const Blocks& send, const Buffer& recv, int root,
                       const Site& node);
void allgather_exchange(Schedule& s, const ConstBuffer& send, const Blocks& recv, const Site& node);
void alltoall_exchange(Schedule& s, const Blocks& send, const Blocks& recv, const Site& node);
void reduce_scatter_exchange(Schedule& s, const Operands& x, const Parts& parts, const Site& node);

/// One strip of a broadcast along a tree: who has it signals `phase(t)` and its children read.
struct Spread {
  const Site& node;
  const Tree& tree;
  int part, parts;            // what is shown, or the piece of the area
  std::int64_t phases, last;  // phase(t) = t * phases + last
  std::int64_t phase(std::int64_t t) const { return t * phases + last; }
  void strip(Schedule& s, std::int64_t t, std::int64_t at, std::int64_t bytes,
             const Buffer& buffer) const;
  /// Wait until nobody reads this rank's strip t any more.
  void before_reuse(Schedule& s, std::int64_t t) const;
};

}  // namespace weft::coll
