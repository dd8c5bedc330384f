// SPDX-License-Identifier: Apache-2.0
//
// The memory that the ranks of a communicator share for collectives: one block of the job's heap,
// zero at the start. Operations are numbered (1, 2, ... per communicator), nothing is ever
// reset: a line belongs to operation n when its turn is n. Each line has one writer at a time:
//   seat      its rank; payload up to `inline_max` bytes rides in the flag's own line
//   node      the last rank to arrive at it
//   meeting   the last rank to arrive at all
// A rank has `seats_each` seats and uses number n % seats_each for operation n; for each rank there
// are `slots_each` slots, used the same way. Each has three strips and uses them in turn: strip k
// is written again after the meeting of strip k + 2, to which everybody came when done with strip
// k. How pieces use their room is said at Shared::cut_pieces.
//
// Whose slots, pieces and strips are whose changes, so that a rank writes where it has read: what
// it has read is in its cache, and what others have read has to come back first (collectives.md).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "coll/limits.h"

namespace weft::coll {

/// How what does not fit a slot is cut, where ranks do not reach each other's buffers: what flows
/// one way in pieces, what everybody needs of everybody in strips.
struct Cuts {
  static constexpr std::int64_t smallest = least_piece;
  std::int64_t piece_max, strip_max;
  bool overlap;
  /// Room for the pieces of one writer: `places` of each length; and where ranks write and read at
  /// the same time, places of the smallest only, and `long_room` for operations of several pieces
  /// (Shared::cut_pieces). That is larger than a reader's private cache, so that lines have left
  /// that cache before they are written again. `bulk_bytes`: model::bulk_bytes.
  std::int64_t long_room;

  constexpr Cuts(bool crowded, bool flat, std::int64_t bulk_bytes = 0)
      : piece_max(crowded ? most_piece_in_crowd : most_piece),
        strip_max(crowded ? most_strip_in_crowd : most_strip),
        overlap(flat),
        long_room(flat ? std::max(2 * places * piece_max, bulk_bytes / 64 * 64) : 0) {}
  /// Where the places for pieces of a length are, one behind the other.
  static constexpr std::int64_t places_of(std::int64_t step) { return places * (step - smallest); }
  constexpr std::int64_t all_places() const {
    return places_of(2 * (long_room > 0 ? smallest : piece_max));
  }
  constexpr std::int64_t piece_room() const { return all_places() + long_room; }
  /// A power of two, so that there are few.
  constexpr std::int64_t piece(std::int64_t bytes) const {
    return part(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes / 4))),
                piece_max);
  }
  constexpr std::int64_t strip(std::int64_t bytes) const {
    return overlap ? part(bytes / 2, strip_max) : strip_max;
  }

 private:
  static constexpr std::int64_t part(std::int64_t bytes, std::int64_t most) {
    return std::clamp(bytes / 64 * 64, smallest, most);
  }
};
inline constexpr int strips_each = 3;
/// Of a long reduce: the root folds all, or everybody a part? Between two ranks the root reads as
/// much either way, and the other need not wait for it; with more ranks than CPUs the work of all
/// counts, and turns. Measured as above, 1 MiB: 2 ranks 37 and 48 us (far 42 and 89), 4 ranks 98
/// and 118.
constexpr bool root_folds(int ranks, bool crowded) {
  return ranks == 2 || crowded;
}

/// Whole lines for coll.shared_max.
constexpr std::int64_t slot_bytes_for(std::int64_t shared_max) {
  return (shared_max + 63) / 64 * 64;
}

/// From one slot to the next: their first lines are not all to be in the same set of a cache.
constexpr std::int64_t slot_room(std::int64_t slot_bytes) {
  return slot_bytes + 2 * 64;
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

  BlockLayout(int ranks, bool crowded, std::int64_t slot_bytes, const Cuts& cuts) {
    const auto p = static_cast<std::size_t>(ranks);
    const auto slot = static_cast<std::size_t>(slot_bytes);
    const auto seats_each = static_cast<std::size_t>(seats_for(crowded));
    const auto slots_each = static_cast<std::size_t>(slots_for(crowded));
    std::size_t node_count = 0;
    for (std::size_t n = p; n > 1; n = (n + fan - 1) / fan) node_count += (n + fan - 1) / fan;
    meeting = sizeof(BlockHeader);
    nodes = meeting + sizeof(Seat);
    seats = nodes + node_count * sizeof(Node);
    finished = seats + p * seats_each * sizeof(Seat);
    meeting_slot = finished + p * 64;
    node_slots = meeting_slot + slot;
    slots = node_slots + node_count * slot;
    pieces = slots + p * slots_each * static_cast<std::size_t>(slot_room(slot_bytes));
    // At least one rank of an operation writes no pieces, and has the last place (count_from).
    strips = pieces + (p - 1) * static_cast<std::size_t>(cuts.piece_room());
    total = strips + p * strips_each * static_cast<std::size_t>(cuts.strip_max);
  }
  /// Flags and counters start at zero; what follows need not, and is memory only once it is used.
  std::size_t zeroed() const { return meeting_slot; }
};

}  // namespace weft::coll
