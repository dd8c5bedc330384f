// SPDX-License-Identifier: Apache-2.0
//
// All numbers in bytes, times and shares that decide something in this room and are neither a
// parameter nor a price of the machine's profile (model/machine.h), with their reasons. A test
// looks for others.
#pragma once

#include <cstdint>

#include "base/trial.h"

namespace weft::pt2pt {

// --- what is pushed, and where (send.cc, fragments.cc)

/// A message that does not fit a fragment is pushed in pieces, so that the receiver copies one out
/// while the sender copies the next one in. Measured, 2-core EPYC (1 MiB L2), 2026-11-23: one
/// way 16 KiB in two pieces take 1.12 of the time of one (far cores 1.2 to 1.4), there and back
/// 0.94 (far 1.14). From here on a piece is long: a fragment is worth its notice, and where stores
/// go counts.
inline constexpr std::int64_t long_piece = 8 << 10;
/// A shorter piece goes beside its cell in the ring: few lines cost less than the looks at a
/// fragment's name. Measured, 2-core EPYC (1 MiB L2), 2026-11-22: 512 bytes the same, 1 KiB 0.28 us
/// in the ring, 0.17 in a fragment.
inline constexpr std::int64_t shortest_in_fragment = 1 << 10;
/// pt2pt.eager_max, unless it is given: ranks of one process, and in a crowd.
inline constexpr std::int64_t eager_in_process = 32 << 10;
/// What another process has to copy twice anyway need not ask first. Measured, 2-core EPYC, near
/// cores, 2026-11-22, asking and not: 64 KiB there and back 1.78 and 1.60 us, a window of 16
/// messages of 256 KiB 8.0 and 6.1 us each.
inline constexpr std::int64_t eager_between_processes = 256 << 10;
/// To other nodes: what is one packet that leaves from where it lies. Longer messages are announced
/// (net/limits.h), or read by their receivers, without a copy, but after an answer. Measured, tcp
/// of libfabric 2.5 over loopback, 2-core EPYC (family 26), 2026-11-24, us, pushed in packets of
/// 64, 128 and 256 KiB, and read: half of a round trip of 128 KiB 19.5, 15.4, 15.4, 40; of 256
/// KiB 40.6, -, 25.5, 36; of 1 MiB 166, -, -, 102. In a window of 16: 256 KiB 42, -, 24.8, 30; 1
/// MiB 232, -, -, 170.
inline constexpr std::int64_t eager_to_other_nodes = 256 << 10;
/// One of so many pieces tells what a line of a cold fragment costs, of a reader near and far; the
/// newest counts half. A reader is far if a line costs so much more than one from memory
/// (write_piece has the figures).
inline constexpr std::uint32_t near_looks = 8, far_looks = 64;
inline constexpr double newest_cold_line = 0.5, far_cold_line = 1.5;
/// Now and then so many pieces of a row go through the ring, or out of it (row_trial.h): more than
/// the ring has room for, and 2 % of all. A place is left for one that takes less than this share
/// of its time; earlier, if a line takes so many times what it took.
inline constexpr std::uint32_t look_pieces = 32, pieces_between_looks = 1536;
inline constexpr double faster_place = 0.9, changed_line = 1.5;

/// Between threads, what MPI_Send sends is offered or pushed, by times (base/trial.h), up to the
/// longest that pt2pt.eager_max may be.
inline constexpr std::int64_t pushed_in_process = 1 << 20;
/// No look before so many messages: a program that sends few should not send some of them in vain.
/// Of a row the last messages count, once the fragments and 16 buffers have gone round. The pause
/// is a prime number: what comes every so many messages is elsewhere in the next look. A change is
/// to gain as much as one of ways of a collective (coll/limits.h).
inline constexpr TrialPlan push_trial{.before_look = 2048,
                                      .rows = 8,
                                      .row = 48,
                                      .counted = 16,
                                      .pause = 4001,
                                      .longest_pause = 8 * 4001,
                                      .faster = 0.93};

/// A send is left to the progress thread if the copy takes so many times as long as telling it.
/// Both are measured as they happen; until then telling takes so long. The newest counts a quarter,
/// and no more than an interrupted call may. Measured, 2-core EPYC (virtual machine), 2026-11-23:
/// telling a thread on an idle core 10 us, on a busy one 5 us; the message leaves 35 us after the
/// call (64 KiB, in the call: 3 us; far cores 16 us).
inline constexpr float copies_for_telling = 2;
inline constexpr float first_tell_ns = 10'000, tell_ns_max = 40'000, newest_tell = 0.25f;

// --- partitions (partitioned.cc)

/// Partitions are sent together until they are worth a message: one costs about as much as copying
/// a quarter of this. Not measured yet (weft bench partitioned does).
inline constexpr std::int64_t partition_message_min = 16 << 10;
/// A transfer has at most so many messages, each a request at both ends.
inline constexpr std::int64_t partition_messages_max = 1 << 10;
/// Looks for a partition in vain before its thread looks after other contexts; fewer than other
/// looks, as those who ask for the others' partitions look there. A multiple of looks_per_yield.
inline constexpr std::uint32_t partition_looks_per_visit = 64;

// --- single copies (transfer.cc, cancel_send.cc)

/// ns of a sender's line, with what reading the clock takes, from which on it is far: near 45, far
/// 150. What takes longer than `line_ns_max` is a tick of the clock and no distance; the newest
/// line counts a quarter.
inline constexpr float far_ns = 100, line_ns_max = 1000, newest_line = 0.25f;
/// A copy that two sides share has about so many chunks: 16 bits count them, and both sides finish
/// together.
inline constexpr std::int64_t wanted_chunks = 64;
/// A chunk is at least so long, or half the message, as taking one costs a line that both write;
/// a dear one, where a line takes long.
inline constexpr std::int64_t least_chunk = 16 << 10, least_far_chunk = 32 << 10;
/// A side takes at most so much at once: the other one may be much slower.
inline constexpr std::int64_t most_taken = 256 << 10;
/// Of a type with gaps: from here on the lines at a block's ends do not count (is_sparse has the
/// figures).
inline constexpr std::int64_t long_block = 1 << 10;
/// Of longer messages the receiver copies its part in any case: two cores are faster, and no cache
/// holds them until they are written again (is_left_to_sender has the figures).
inline constexpr std::int64_t most_left_to_sender = 2 << 20;

// --- waiting (contexts.cc)

/// Looks at a network's end until it is watched: one more than it takes to see that its descriptor
/// is always readable (net/limits.h), and one that finds what there is.
inline constexpr int looks_before_watch = 10;
/// Visits to another context that are left out, one after the other, because its own threads are
/// about: these may only ever send. A visit comes after 8 looks, so all take some 0.2 ms
/// (modelled).
inline constexpr std::uint32_t most_passes = 64;
/// Looks in vain (MPI_Test) before the core is given away, if it is wanted.
inline constexpr std::uint32_t looks_per_yield = 8;

}  // namespace weft::pt2pt
