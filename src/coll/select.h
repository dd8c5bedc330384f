// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm: one table per collective, read from the top; the first row that fits is taken
// (or the one asked for).
// The last row of each fits everything. What decides (bytes, ranks, commutativity) is the same on
// all ranks, so all choose alike.
#pragma once

#include <string_view>

#include "coll/blocks.h"
#include "coll/schedule.h"
#include "coll/signature.h"

namespace weft::coll {

using EmitBarrier = void(Schedule&, Position);
using EmitBcast = void(Schedule&, const Buffer&, int root, Position);
using EmitGather = void(Schedule&, const ConstBuffer&, const Blocks&, int root, Position);
using EmitScatter = void(Schedule&, const Blocks&, const Buffer&, int root, Position);
using EmitAllgather = void(Schedule&, const ConstBuffer&, const Blocks&, Position);
using EmitAlltoall = void(Schedule&, const Blocks&, const Blocks&, Position);
using EmitReduce = void(Schedule&, const Operands&, int root, Position);
using EmitAllreduce = void(Schedule&, const Operands&, Position);
using EmitReduceScatter = void(Schedule&, const Operands&, const Parts&, Position);

/// What a choice depends on. `bytes`: as the costs count them (algorithms/algorithms.h).
struct Case {
  int ranks = 0;
  std::int64_t bytes = 0;
  bool uniform = true;  // all blocks have one size
  bool commutative = true;
  std::string_view asked = {};  // taken instead if it is legal
  bool reproducible = false;    // reductions in the order of ranks only
};

template <class Emit>
struct Chosen {
  const char* name;
  Emit* emit;
};

/// With ranks of one process: copy straight between the users' buffers instead of overlapping two
/// copies through shared memory? `bytes`: of a vector or block. `far`: a line between the ranks
/// takes longer than between cores that share a cache.
bool worth_direct(Call call, std::int64_t bytes, int ranks, bool far);

Chosen<EmitBcast> choose_bcast(const Case& c);
Chosen<EmitGather> choose_gather(const Case& c);
Chosen<EmitScatter> choose_scatter(const Case& c);
Chosen<EmitAllgather> choose_allgather(const Case& c);
Chosen<EmitAlltoall> choose_alltoall(const Case& c);
Chosen<EmitReduce> choose_reduce(const Case& c);
Chosen<EmitAllreduce> choose_allreduce(const Case& c);
Chosen<EmitAllreduce> choose_scan(const Case& c);
Chosen<EmitAllreduce> choose_exscan(const Case& c);
Chosen<EmitReduceScatter> choose_reduce_scatter(const Case& c);

}  // namespace weft::coll
