// SPDX-License-Identifier: Apache-2.0
//
// What an algorithm of node/ knows when it emits: the ranks' places on the node, the board of the
// operation, and where ranks read each other's data. Long vectors go in strips that fit a cache.
//
// Ranks of one process read each other's buffers, which they show; a rank returns when nobody reads
// its buffers any more. Ranks in processes of their own put a strip into their area; an area has
// two halves, so that a strip is written while the one before is read, and a half is written again
// when nobody reads it any more. The emitters say it once for both: `before_reuse` of strip t - 2
// with areas, of the last one without.
#pragma once

#include <algorithm>
#include <memory>

#include "coll/boards/board.h"
#include "coll/boards/levels.h"
#include "coll/schedule.h"

namespace weft::coll {

/// How ranks lie on the node, for emitters.
struct Ground {
  explicit Ground(Levels of_node) : levels(std::move(of_node)), flat(levels.ranks()) {}
  Levels levels, flat;
  std::int64_t direct_strip = 0;  // bytes, if ranks read each other's buffers
  Tree up, down;                  // of the rank that emits
};

struct Cluster;  // nodes/phases.h

/// What a communicator keeps for boards/ and nodes/.
struct NodeState {
  explicit NodeState(Comm& comm);
  ~NodeState() { delete boards; }
  NodeState(const NodeState&) = delete;
  NodeState& operator=(const NodeState&) = delete;

  Here here;
  Ground ground;
  std::vector<std::uint8_t> level_with;  // [place]: the node's innermost level that holds both
  Boards* boards;                        // the ring; null: none to be had
  std::uint32_t persistent = 0;          // operations initialized so far
  std::shared_ptr<Cluster> cluster;      // null: all ranks are on this node
};

/// Bytes that are read at a time in ranks' own buffers: what a rank reads and what it writes, each
/// twice (one strip is written while the one before is read), fit its share of the largest cache.
/// Zero: not known, all fits.
constexpr std::int64_t strip_for(double cache_lines) {
  const auto quarter = static_cast<std::int64_t>(cache_lines / 4) * 64;
  return cache_lines > 0 ? std::clamp(quarter, least_strip, most_direct_strip) : most_direct_strip;
}

struct Site {
  Ground& ground;
  Areas areas;
  Position me;

  const Levels& levels() const { return ground.levels; }
  bool direct() const { return areas.direct; }

  /// Bytes of a strip where a rank needs `parts` pieces of an area for it.
  std::int64_t strip_bytes(int parts) const {
    return direct() ? ground.direct_strip
                    : static_cast<std::int64_t>(areas.room) / 2 / parts / 64 * 64;
  }
  /// Piece `part` of `parts` for strip `t` in a rank's area.
  std::byte* piece(int rank, std::int64_t t, int part, int parts) const {
    return areas.of(rank) + ((t % 2) * parts + part) * strip_bytes(parts);
  }
  /// What `rank` has there (or shows as view 0 of `part`), as a buffer whose byte `at` is the first
  /// of the strip.
  Source source(int rank, std::int64_t t, std::int64_t at, int part = 0, int parts = 1) const {
    if (direct()) return {.rank = rank, .what = static_cast<std::int8_t>(part)};
    return {.rank = rank, .here = as_bytes(piece(rank, t, part, parts) - at, INT64_MAX)};
  }
};

/// A buffer of this rank.
inline Source own(const ConstBuffer& buffer) {
  return {.here = buffer};
}
/// Memory of this rank whose byte `at` is `data`.
inline Buffer placed(void* data, std::int64_t at) {
  return as_bytes(static_cast<std::byte*>(data) - at, INT64_MAX);
}

/// Strips of at most `most` of `total` (bytes or elements).
struct Strips {
  std::int64_t total, most;
  std::int64_t count() const { return (total + most - 1) / most; }
  std::int64_t begin(std::int64_t t) const { return t * most; }
  std::int64_t length(std::int64_t t) const { return std::min(most, total - t * most); }
};

}  // namespace weft::coll
