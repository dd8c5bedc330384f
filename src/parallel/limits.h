// SPDX-License-Identifier: Apache-2.0
//
// All numbers in bytes, times and shares that decide something in this room and are neither a
// parameter nor a price of the machine's profile (model/machine.h), with their reasons. A test
// looks for others.
#pragma once

#include <cstdint>

namespace weft::parallel {

// --- is a job worth it (jobs.cc)

/// A job must take so long that waking a sleeper pays: it comes after about 30 us. Measured, 2-core
/// EPYC, 2026-11-23, a packing thread and one asleep in MPI_Recv: 34 us alone, 38 us if it woke the
/// other; 67 and 64; 436 and 269.
inline constexpr std::int64_t wake_worth_ns = 100'000;
/// Of a chunk. Measured there, 64 MiB past the caches: 5.6 ms by chunks of 10 us, 4.4 of 20, 4.2 of
/// 80.
inline constexpr std::int64_t chunk_ns = 20'000;
/// Chunks of a job: the helpers' shares are to differ little, however late one comes, so a short
/// job has usual_chunks of less time each, but no less than least_chunk_ns: to take one is 0.1 us.
/// 32 bits count them. Measured there, 2026-11-27, a copy of 4 MiB and a rank that waits: 50 or 66
/// us by 4 chunks, 47 or 63 by 8 and 16, 45 by 32 and 64.
inline constexpr std::int64_t usual_chunks = 32, least_chunk_ns = 1'000, least_chunks = 4;
inline constexpr std::int64_t least_chunks_forced = 64, most_chunks = 1 << 20;
/// Looks of a caller whose helpers are at their last chunks, before it gives its core away.
inline constexpr int looks_for_last_chunks = 1000;
/// What a line takes to copy, and how many lines a cache holds, until the profile is known.
inline constexpr double line_cached_ns = 0.6, line_memory_ns = 8, lines_cached = 1 << 14;

// --- is a message (transfer.h)

/// Offering costs 0.3 us; that is to be less than 3 % of what one thread takes (measured:
/// bench/idle, 2-core EPYC, 2026-11-23).
inline constexpr std::int64_t least_worth_ns = 10'000;
/// Of MT-MPI, section 3.2.2; its threads include the caller.
inline constexpr std::int64_t paper_bytes = 64 << 10, paper_room = 64 << 10;
inline constexpr int paper_threads = 8;

// --- who helps (helpers.cc, openmp/)

/// A helper thread spins as long as a rank that waits: what comes at once is not to wait for a
/// switch.
inline constexpr std::int64_t spin_ns = 50'000;
/// Making a token takes 0.1 to 0.2 us, and all of them at most 3 % of the work.
inline constexpr std::int64_t worth_of_token_ns = 6'000;
/// A region takes 1 us while its threads spin, and up to 100 us when they sleep; its end waits for
/// all of them.
inline constexpr std::int64_t worth_of_region_ns = 100'000;
/// Threads and critical sections that are known at once; others are not counted on.
inline constexpr int most_members = 1024, most_gates = 256;
/// So long a thread that waits for a critical section looks for work, before it sleeps.
inline constexpr std::int64_t patience_ns = 1'000'000;

}  // namespace weft::parallel
