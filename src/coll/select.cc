// SPDX-License-Identifier: Apache-2.0
//
// The range tables. Their numbers are estimates until bench/collectives has measured them: a
// message costs about as much as copying 2-4 KiB inside a node (findings for a 2-core machine:
// 0.3-0.7 us latency, 10 GB/s), so trees of packed blocks pay below that, and rings and halving
// above it.
#include "coll/select.h"

#include "coll/algorithms/algorithms.h"

namespace weft::coll {
namespace {

constexpr std::int64_t any_size = INT64_MAX;

template <class Emit>
struct Row {
  std::int64_t up_to_bytes;
  int from_ranks;
  bool uniform_only;
  bool commutative_only;
  Chosen<Emit> algorithm;
  bool ordered = false;  // a reduction that coll.reproducible may use
  bool is_legal(const Case& c) const {
    return (c.uniform || !uniform_only) && (c.commutative || !commutative_only) &&
           (ordered || !c.reproducible);
  }
};
/// For coll.reproducible, and where nothing better is legal.
constexpr bool ordered = true;

template <class Emit, std::size_t N>
Chosen<Emit> choose(const Row<Emit> (&table)[N], const Case& c) {
  if (!c.asked.empty())
    for (const Row<Emit>& row : table)
      if (row.algorithm.name == c.asked && row.is_legal(c)) return row.algorithm;
  for (const Row<Emit>& row : table)
    if (c.bytes <= row.up_to_bytes && c.ranks >= row.from_ranks && row.is_legal(c))
      return row.algorithm;
  __builtin_unreachable();
}

// To be measured by bench/collectives; see above.
constexpr std::int64_t packed_block_max = 2048;  // a block that is worth packing into a tree
constexpr std::int64_t bruck_block_max = 256;    // it travels log2(p)/2 times
constexpr int bruck_ranks_min = 8;
constexpr std::int64_t bcast_tree_max = 128 << 10;
constexpr std::int64_t doubling_max = 8 << 10;
constexpr std::int64_t rooted_max = 1 << 10;

//                                       up to bytes, from ranks, uniform, commutative
constexpr Row<EmitBcast> bcast_rows[] = {
    {bcast_tree_max, 1, false, false, {"binomial", bcast_binomial}},
    {any_size, 4, false, false, {"scatter_allgather", bcast_scatter_allgather}},
    {any_size, 1, false, false, {"binomial", bcast_binomial}},
};
constexpr Row<EmitGather> gather_rows[] = {
    {packed_block_max, 4, true, false, {"binomial", gather_binomial}},
    {any_size, 1, false, false, {"linear", gather_linear}},
};
constexpr Row<EmitScatter> scatter_rows[] = {
    {packed_block_max, 4, true, false, {"binomial", scatter_binomial}},
    {any_size, 1, false, false, {"linear", scatter_linear}},
};
constexpr Row<EmitAllgather> allgather_rows[] = {
    {packed_block_max, 3, true, false, {"bruck", allgather_bruck}},
    {any_size, 1, false, false, {"ring", allgather_ring}},
};
constexpr Row<EmitAlltoall> alltoall_rows[] = {
    {bruck_block_max, bruck_ranks_min, true, false, {"bruck", alltoall_bruck}},
    {any_size, 1, false, false, {"pairwise", alltoall_pairwise}},
};
constexpr Row<EmitAllreduce> allreduce_rows[] = {
    {doubling_max, 1, false, false, {"recursive_doubling", allreduce_recursive_doubling}},
    {any_size, 1, false, true, {"rabenseifner", allreduce_rabenseifner}},
    {any_size, 1, false, false, {"ordered", allreduce_ordered}, ordered},
};
constexpr Row<EmitReduceScatter> reduce_scatter_rows[] = {
    {rooted_max, 4, false, false, {"rooted", reduce_scatter_rooted}},
    {any_size, 1, false, true, {"pairwise", reduce_scatter_pairwise}},
    {any_size, 1, false, false, {"ordered", reduce_scatter_ordered}, ordered},
};
constexpr Row<EmitReduce> reduce_rows[] = {
    {any_size, 1, false, false, {"binomial", reduce_binomial}},
    {any_size, 1, false, false, {"ordered", reduce_ordered}, ordered},
};
constexpr Row<EmitAllreduce> scan_rows[] = {
    {any_size, 1, false, false, {"recursive_doubling", scan_recursive_doubling}},
    {any_size, 1, false, false, {"linear", scan_linear}, ordered},
};
constexpr Row<EmitAllreduce> exscan_rows[] = {
    {any_size, 1, false, false, {"recursive_doubling", exscan_recursive_doubling}},
    {any_size, 1, false, false, {"linear", exscan_linear}, ordered},
};

}  // namespace

bool worth_direct(Call call, std::int64_t bytes, int ranks, bool far) {
  // Measured, bench collectives, threads on a 2-core EPYC whose cores are near or far, 2026-11-22,
  // direct / block, 2 ranks, 16, 64, 256 KiB and 1 MiB of a vector or block.
  //
  // Blocks are written into the buffers of those who want them: one copy, but one more meeting than
  // through strips, and lines that others have read. Near: allgather 1.13, 0.98, 0.81, 0.78,
  // alltoall 1.03, 0.90, 0.78, 0.82, gather 1.00, 0.88, 0.87, 0.93, scatter 1.08, 1.15, 1.06, 0.98,
  // bcast 1.16, 1.06, 1.01, 1.00; far: allgather 1.71, 1.27, 1.06, 0.91, alltoall 1.59, 1.20, 1.00,
  // 0.95, gather 1.47, 1.22, 1.17, 0.84, scatter 1.64, 1.40, 1.35, 0.97, bcast 1.82, 1.39, 1.39,
  // 1.25. So do two ranks with operands: allreduce near 1.30, 0.86, 0.82, 0.75, far 2.12, 1.36,
  // 1.15, 1.00; reduce_scatter (of a block) near 0.87, 0.82, 0.79, 0.86, far 1.00, 0.92, 0.83,
  // 0.81.
  //
  // Other reductions read the operands where they are, which their owners have to fetch back before
  // they write them again: with ordinary stores 1.7 ns a line between near cores, 7.5 between far
  // ones, where a copy that overwrites whole lines of another core takes 0.5 and 1.0. Near: reduce
  // 1.22, 1.06, 1.10, 0.74, 4 ranks allreduce 0.91, 0.91, 0.82, 0.63; far: 2.1 to 2.4.
  switch (call) {
    case Call::bcast:
    case Call::scatter:
    case Call::scatterv:
      return false;
    case Call::allreduce:
      if (ranks == 2) return bytes >= (far ? 1 << 20 : 64 << 10);
      return !far && bytes >= 512 << 10;
    case Call::reduce:
      // 2 ranks: pieces take 1.35 as long near and 0.45 far, which nobody may have told.
      return ranks > 2 && !far && bytes >= 512 << 10;
    case Call::reduce_scatter:
    case Call::reduce_scatter_block:
      return ranks == 2 ? bytes >= 32 << 10 : !far && bytes >= 1 << 20;  // of the whole vector
    case Call::gather:
    case Call::gatherv:
      if (ranks == 2) return bytes >= 512 << 10;
      [[fallthrough]];
    default:
      // Near, strips of 64 KiB take up to 1.1 as long; if the ranks are far, direct 1.2 to 1.3.
      return bytes >= (far ? 512 << 10 : 128 << 10);
  }
}

Chosen<EmitBcast> choose_bcast(const Case& c) {
  return choose(bcast_rows, c);
}
Chosen<EmitGather> choose_gather(const Case& c) {
  return choose(gather_rows, c);
}
Chosen<EmitScatter> choose_scatter(const Case& c) {
  return choose(scatter_rows, c);
}
Chosen<EmitAllgather> choose_allgather(const Case& c) {
  return choose(allgather_rows, c);
}
Chosen<EmitAlltoall> choose_alltoall(const Case& c) {
  return choose(alltoall_rows, c);
}
Chosen<EmitReduce> choose_reduce(const Case& c) {
  return choose(reduce_rows, c);
}
Chosen<EmitAllreduce> choose_scan(const Case& c) {
  return choose(scan_rows, c);
}
Chosen<EmitAllreduce> choose_exscan(const Case& c) {
  return choose(exscan_rows, c);
}
Chosen<EmitAllreduce> choose_allreduce(const Case& c) {
  return choose(allreduce_rows, c);
}
Chosen<EmitReduceScatter> choose_reduce_scatter(const Case& c) {
  return choose(reduce_scatter_rows, c);
}

}  // namespace weft::coll
