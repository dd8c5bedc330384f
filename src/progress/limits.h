// SPDX-License-Identifier: Apache-2.0
//
// All times that decide something in this room, with their reasons.
#pragma once

#include <cstdint>

namespace weft::progress {

/// A rank that calls MPI again within this time comes and goes, and its thread leaves it alone; one
/// that is away for longer will often be. While it comes and goes, twice as long each time.
inline constexpr std::int64_t first_pause_ns = 20'000, longest_pause_ns = 2'000'000;
/// Where windows are over several nodes, others wait for what it finds: it is no later than this.
inline constexpr std::int64_t longest_pause_of_windows_ns = 100'000;
/// To tell the thread takes the rank some us, which is measured as it happens. That is worth it if
/// the rank stays away for so many times as long. If so many times in a row it did not, it need not
/// tell any more; the thread looks now and then whether that has changed.
inline constexpr double away_per_tell = 20;
inline constexpr int most_in_vain = 4;
/// How much longer than asked the kernel may let the thread sleep; usually 50 us.
inline constexpr unsigned long timer_slack_ns = 1'000;

}  // namespace weft::progress
