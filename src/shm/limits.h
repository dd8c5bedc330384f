// SPDX-License-Identifier: Apache-2.0
//
// All numbers in bytes that decide something in this room, with their reasons. A test looks for
// others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::shm {

/// Of a fragment: two long pieces (pt2pt/limits.h), which take 1.12 to 1.4 of the time of one.
inline constexpr std::size_t fragment_bytes = 16 << 10;
/// Fragments that are warm at most: a core's own caches hold them (1 MiB).
inline constexpr std::uint32_t most_warm = 64;
/// Payload of a cell: Cell::units counts it, twice for padding.
inline constexpr std::uint32_t most_payload = 1 << 20;
/// Copy jobs of a rank that are there from the start, in its area behind its mailbox, and of the
/// first block that is added.
inline constexpr std::size_t jobs_begin = 4 << 10;
inline constexpr std::uint32_t first_added_jobs = 512;

}  // namespace weft::shm
