// SPDX-License-Identifier: Apache-2.0
//
// The memory that the ranks of a communicator share for collectives: one block of the job's heap,
// zero at the start. Operations are numbered (1, 2, ... per communicator), nothing is ever
// reset: a line belongs to operation n when its turn is n. Each line has one writer at a time:
//   seat      its rank; payload up to `inline_max` bytes rides in the flag's own line
//   node      the last rank to arrive at it
//   meeting   the last rank to arrive at all
// A rank has `window` seats, slots and pieces and uses number n % window for operation n. It has
// two strips and uses them in turn: strip k is not written again before a meeting that comes after
// the meeting at which it was filled.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::coll {

inline constexpr std::int64_t inline_max = 48;
// Operations that a rank may be ahead of the slowest one. Enough to let the root of a row of
// broadcasts run for a few scheduling rounds; to be measured by bench/collectives.
inline constexpr int window = 8;
// Ranks (or nodes) that meet at one node: few enough that their atomic additions do not queue up,
// and that a fold over them is one scan of cached lines; to be measured by bench/collectives.
inline constexpr int fan = 8;
// Ranks that look at each other's seats directly when each has a core; at most `fan`, so that the
// fold is the same as at a node. To be measured by bench/collectives.
inline constexpr int flat_max = fan;
// The last rank of a short scan looks at all seats; more ranks hand on partial results.
inline constexpr int scan_ranks_max = 16;

// A long stream goes in pieces, a long meeting in strips, where ranks do not reach each other's
// buffers. A piece as in pt2pt (largest_piece); two strips of each of a few ranks fit a cache of
// 1 MiB; to be measured by bench/collectives.
inline constexpr std::int64_t piece_bytes = 16 << 10;
inline constexpr std::int64_t strip_bytes = 64 << 10;

/// Whole lines for coll.shared_max.
constexpr std::int64_t slot_bytes_for(std::int64_t shared_max) {
  return (shared_max + 63) / 64 * 64;
}

struct alignas(64) Seat {
  std::atomic<std::uint64_t> turn;  // release; pairs with Shared::await
  std::uint64_t what;               // the call, and how many bytes it moves (Shared::note)
  std::byte payload[inline_max];
};

struct alignas(64) Node {
  std::atomic<std::uint32_t> arrived;  // in all meetings so far (acq_rel: carries the payloads)
  alignas(64) std::byte payload[inline_max];
};

struct alignas(64) BlockHeader {
  std::atomic<std::uint32_t> wanted;  // ranks that wait for room in their window
};

/// Where the parts of a block are.
struct BlockLayout {
  std::size_t meeting, meeting_slot, nodes, node_slots, seats, finished, slots, pieces, strips,
      total;

  BlockLayout(int ranks, std::int64_t slot_bytes) {
    const auto p = static_cast<std::size_t>(ranks);
    const auto slot = static_cast<std::size_t>(slot_bytes);
    std::size_t node_count = 0;
    for (std::size_t n = p; n > 1; n = (n + fan - 1) / fan) node_count += (n + fan - 1) / fan;
    meeting = sizeof(BlockHeader);
    nodes = meeting + sizeof(Seat);
    seats = nodes + node_count * sizeof(Node);
    finished = seats + p * window * sizeof(Seat);
    meeting_slot = finished + p * 64;
    node_slots = meeting_slot + slot;
    slots = node_slots + node_count * slot;
    pieces = slots + p * window * slot;
    strips = pieces + p * window * static_cast<std::size_t>(piece_bytes);
    total = strips + p * 2 * static_cast<std::size_t>(strip_bytes);
  }
  /// Flags and counters start at zero; what follows need not, and is memory only once it is used.
  std::size_t zeroed() const { return meeting_slot; }
};

}  // namespace weft::coll
