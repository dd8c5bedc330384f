// SPDX-License-Identifier: Apache-2.0
//
// All numbers that decide something in this room, with their reasons.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/trial.h"

namespace weft::rma {

/// A barrier of so many rounds is enough for 2^31 members.
inline constexpr int barrier_rounds = 31;
/// Attached regions that origins can look up; more of them are not checked.
inline constexpr int listed_regions = 32;
/// Pieces that the kernel is given at once; on the stack of who copies.
inline constexpr int kernel_pieces = 64;
/// Bytes that are accumulated between two system calls, and while others wait for the lock.
inline constexpr std::int64_t locked_bytes = std::int64_t{8} << 10;
/// Elements in a row of so many bytes are accumulated together, with nobody else beside, where that
/// is so already; and where this rank has accumulated so many bytes of rows one by one. So many
/// at a time while others wait. Measured, 2-core EPYC (family 26 model 2), 2026-11-24: a double by
/// atomic instructions 5.3 ns, by a reduction 0.1 to 0.5; to make sure that nobody else is there
/// 11 us, and between processes sync::drain_us since 2026-11-27.
inline constexpr std::int64_t row_bytes = 32, bulk_bytes = std::int64_t{16} << 10;
inline constexpr std::int64_t bulk_at_once_bytes = std::int64_t{256} << 10;
/// Looks at a taken lock of accumulation before the core is given away: it is held for as long as
/// locked_bytes take.
inline constexpr int lock_looks = 100;
/// Flushes and unlocks with nothing to wait for between two that look at messages; and looks
/// between two that count as in vain, of which every eighth gives a crowded core away: a program
/// may wait by them.
inline constexpr std::uint32_t ends_per_look = 32, looks_per_vain = 4;
/// Bytes of an operation that the entry points do themselves: what is longer may pay to be shared
/// with idle threads, and what comes before the copy does not count. So many take less than the 10
/// us of parallel.min_bytes where each line comes from a far core.
inline constexpr std::int64_t straight_bytes = std::int64_t{64} << 10;
/// Longer ones are tried with and without the help of idle threads (base/trial.h), for each power
/// of two. A copy without help may take many times as long, so looks are short and become rare: 8
/// of the first 300 copies go without, in the end 8 of 4000.
inline constexpr std::int64_t tried_bytes = std::int64_t{64} << 20;
inline constexpr TrialPlan help_trial{.before_look = 16,
                                      .rows = 8,
                                      .row = 8,
                                      .counted = 4,
                                      .pause = 251,
                                      .longest_pause = 16 * 251,
                                      .faster = 0.93};

// Of accesses that are compared (races.h): those that a target remembers; the pieces of one, of
// more it is not compared; and the bytes of a call site's name.
inline constexpr int compared_notes = 1024;
inline constexpr int compared_ranges = 48;
inline constexpr int compared_text = 48;

}  // namespace weft::rma
