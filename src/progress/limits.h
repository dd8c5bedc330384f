// SPDX-License-Identifier: Apache-2.0
//
// All times that decide something in this room, with their reasons.
#pragma once

#include <cstdint>

namespace weft::progress {

/// Between two looks whether the rank comes and goes: so long that a rank which calls MPI all the
/// time is left alone, and twice as long each time it is not.
inline constexpr std::int64_t first_pause_ns = 20'000, longest_pause_ns = 2'000'000;

}  // namespace weft::progress
