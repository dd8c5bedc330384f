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
/// Looks at a taken lock of accumulation before the core is given away: it is held for as long as
/// locked_bytes take.
inline constexpr int lock_looks = 100;

// Of accesses that are compared (races.h): those that a target remembers; the pieces of one, of
// more it is not compared; and the bytes of a call site's name.
inline constexpr int compared_notes = 1024;
inline constexpr int compared_ranges = 48;
inline constexpr int compared_text = 48;

}  // namespace weft::rma
