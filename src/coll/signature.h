// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a collective have to agree on. With abi.check=full every operation begins by
// gathering everybody's signature; if they differ every rank gets the same error, which names two
// ranks and what they called, and the operation ends there instead of waiting for messages that
// never come or delivering the wrong ones. Not on intercommunicators, whose sides differ.
#pragma once

#include <string_view>

#include "coll/coll.h"
#include "coll/schedule.h"

namespace weft::coll {

enum class Call : std::int32_t {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};

/// "reduce_scatter"
std::string_view call_name(Call call);

struct Signature {
  static constexpr std::int32_t no_root = -1;
  static constexpr std::int64_t any_size = -1;  // ranks may differ in it

  Call call;
  How::What what = How::blocking;
  std::int32_t root = no_root;
  std::int64_t bytes = any_size;  // of one block, or of the vector
  std::uint64_t op = 0;           // datatype::Operation
  std::int64_t sent = any_size;   // of the block that a rank sends itself, which has to be `bytes`
};

/// What a rank tells the others in one word, in shared memory: call, form and bytes.
inline std::uint64_t note_of(Call call, std::int64_t bytes, How::What what = How::blocking) {
  return static_cast<std::uint64_t>(bytes) << 8 | static_cast<std::uint64_t>(what) << 6 |
         static_cast<std::uint64_t>(call);
}
inline Call call_of(std::uint64_t note) {
  return static_cast<Call>(note & 0x3f);
}
inline How::What how_of(std::uint64_t note) {
  return static_cast<How::What>(note >> 6 & 3);
}
/// The error of a rank that finds `theirs` at `rank` where it expected `mine`.
[[gnu::cold]] Err notes_differ(const Comm& comm, int rank, std::uint64_t theirs,
                               std::uint64_t mine);
/// The error of a rank that does `mine` and waits for one that has ended its part.
[[gnu::cold]] Err ended_early(const Comm& comm, int rank, std::uint64_t mine);

/// "MPI_Ibcast(root 1, 400 bytes)"
void describe(const Signature& s, char* text, std::size_t room);
/// Emit the comparison, if abi.check=full asks for it, in front of everything else.
void emit_comparison(Schedule& schedule, const Comm& comm, const Signature& mine);
/// An error if the signatures differ, the same one on all ranks.
Err compare_signatures(const Signature* all, int ranks, const Comm& comm);

}  // namespace weft::coll
