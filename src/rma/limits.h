// SPDX-License-Identifier: Apache-2.0
//
// All numbers that decide something in this room, with their reasons.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rma {

/// A barrier of so many rounds is enough for 2^31 members.
inline constexpr int barrier_rounds = 31;
/// Attached regions that origins can look up; more of them are not checked.
inline constexpr int listed_regions = 32;
/// Pieces that the kernel is given at once; on the stack of who copies.
inline constexpr int kernel_pieces = 64;
/// Bytes that are accumulated between two system calls, and while others wait for the lock.
inline constexpr std::int64_t locked_bytes = std::int64_t{8} << 10;
/// From so many bytes on elements are accumulated together, with nobody else beside, not one by
/// one; from fewer where nobody else does so anyway; and so many at a time while others wait.
/// Measured, 2-core EPYC (family 26 model 2), 2026-11-24: a double by atomic instructions 5.3 ns,
/// by a reduction 0.1 to 0.5; to make sure that nobody else is there 11 us.
inline constexpr std::int64_t bulk_bytes = std::int64_t{16} << 10, more_bulk_bytes = 256;
inline constexpr std::int64_t bulk_at_once_bytes = std::int64_t{256} << 10;
/// Looks at a taken lock of accumulation before the core is given away: it is held for as long as
/// locked_bytes take.
inline constexpr int lock_looks = 100;
/// Flushes and unlocks with nothing to wait for between two that count as a look in vain, of which
/// every eighth gives a crowded core away: a program may wait by them. Measured, 8 ranks on 2
/// cores, 2026-11-24: put and flush 0.74 us if each counts.
inline constexpr std::uint32_t ends_per_look = 16;

// Of accesses that are compared (races.h): those that a target remembers; the pieces of one, of
// more it is not compared; and the bytes of a call site's name.
inline constexpr int compared_notes = 1024;
inline constexpr int compared_ranges = 48;
inline constexpr int compared_text = 48;

}  // namespace weft::rma
