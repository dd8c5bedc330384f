// SPDX-License-Identifier: Apache-2.0
//
// All numbers in bytes that decide something in this room, with their reasons. A test looks for
// others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::memory {

/// The kernel's, on x86-64.
inline constexpr std::size_t page = 4 << 10;

// --- the layout of the job's memory (job.h)

/// In front of a context's rings: its mailbox's control lines and copy jobs (shm/mailbox.h).
inline constexpr std::size_t area_control_bytes = 64 << 10;
/// Of that, what outlives the rank: where memory is that it added (shm/mailbox.h).
inline constexpr std::size_t area_lasting_at = 128, area_lasting_bytes = 192;
/// Places for ranks that are spawned (spawn.places): as many as the universe has left, within
/// these. Each is 3 MiB of address space; memory only where there has been a rank.
inline constexpr std::int64_t fewest_spare_places = 64, most_spare_places = 4096;
/// What a rank's waiting threads note (hang/record.h); memory only where there is a note.
inline constexpr std::size_t rank_waits_bytes = 600 << 10;
/// For the node's prices (model/machine.h), with room to spare.
inline constexpr std::size_t price_bytes = 3 << 9;
/// For what ranks find out that all of a node have the same of (coll/ledger.h); memory only where
/// it is written.
inline constexpr std::size_t findings_bytes = 64 << 10;
/// One line that says why the job was aborted.
inline constexpr std::size_t message_bytes = 1 << 10;
/// For the CPUs that ranks may use: 4096 of them.
inline constexpr std::size_t cpu_words = 64;

// --- the heap

/// Address space only: the kernel gives pages when they are touched. Enough for hundreds of
/// communicators; not more, because valgrind takes two seconds per GiB.
inline constexpr std::size_t heap_per_rank = std::size_t{256} << 20,
                             most_heap = std::size_t{16} << 30;
/// The file grows by extents, each twice as long as the one before.
inline constexpr std::uint64_t first_extent_bytes = std::uint64_t{16} << 20;

}  // namespace weft::memory
