// SPDX-License-Identifier: Apache-2.0
//
// All times and counts of looks that decide something in this room, with their reasons. A test
// looks for others.
#pragma once

#include <cstdint>

namespace weft::sync {

/// us of a sleep where the kernel refuses membarrier, so that a wake-up may be lost.
inline constexpr std::int64_t blind_sleep_us = 500;
/// us of any sleep that membarrier guards. The kernel leaves a CPU out for a while if one of a
/// process's threads has ended there and another one goes on (docs/decisions/0003, Linux 6.18), so
/// even then a wake-up may be lost, if rarely; it is found this late. A look takes as long as a
/// yielding wait where there are other nodes, else some us (not measured).
inline constexpr std::int64_t longest_sleep_us = 1'000'000;
/// us in which what a CPU has written leaves it, with or without a fence: some hundred lines that
/// come from far cores (estimated, not measured).
inline constexpr std::int64_t drain_us = 20;

/// Looks between two readings of the clock, while spinning. A look is 5-50 ns, one reading about 25
/// ns.
inline constexpr std::uint32_t looks_per_clock = 64;
/// Who has yielded so often has time for others' work.
inline constexpr std::uint32_t yields_until_counted = 8;
/// Who has waited for a slice of another program's sleeps instead of yielding for so long, and
/// twice as long each time that it still computes: at first two slices' time, at last one slice in
/// it is a few per cent.
inline constexpr std::int64_t first_neighbour_ns = 5'000'000, longest_neighbour_ns = 100'000'000;
/// A slice was no other program's if a rank of the job has computed for this part of it: several
/// ranks may have, and who only goes from wait to wait computes for some us.
inline constexpr std::int64_t least_share = 8;
/// The same while resting (sync/backoff.h), of which one takes 60 ns to 1.6 us here.
inline constexpr std::uint32_t rests_per_clock = 4;
/// Cycles of the first and the longest rest: less than the line takes to come that is waited for,
/// and half of what it costs to be switched off and on again.
inline constexpr std::uint32_t first_rest = 128, longest_rest = 4096;
/// Looks of a wait that is to be brief: 2 us, what it costs to be switched off and on again.
inline constexpr std::uint32_t brief_looks = 128;
/// sync.spin_us, unless it is given, where each rank has a core.
inline constexpr std::int64_t default_spin_us = 50;
/// sync.yield_us, unless it is given; and where each rank has a core, unless waits take longer:
/// two slices of a kernel.
inline constexpr std::int64_t default_yield_us = 1000, longest_yield_us = 10'000;
/// Of the longer one; each is a long wait.
inline constexpr int most_halvings = 4;
/// Looks at a lock before a waiting thread gives its core away (or sleeps) instead.
inline constexpr std::uint32_t lock_patience = 2000;
/// The same where threads may outnumber CPUs: the thread that has the lock may need this very core.
/// 64 bytes, 4 and 16 threads in pairs on 2 CPUs: 0.13 us per message with 0 to 100 looks, 0.2 to
/// 0.35 us with 2000 (bench threads, 2026-11-22).
inline constexpr std::uint32_t little_patience = 50;
/// Of a CPU at a time, of a thread of weft's own: the least that Linux gives (sched/fair.c).
inline constexpr std::uint64_t slice_ns = 100'000;

}  // namespace weft::sync
