// SPDX-License-Identifier: Apache-2.0
//
// All numbers in bytes, ranks and shares that decide something in this room. Prices are not here:
// those of the machine are in its profile (model/machine.h), those of ways are walked (walk.h). A
// test looks for others.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::coll {

// --- launching

// Schedules that a communicator across nodes keeps for calls with the same arguments, and what they
// move at most. Of longer calls emitting is a small part, and schedules hold memory.
inline constexpr int kept_schedules = 32;
inline constexpr std::int64_t kept_bytes = 16 << 10;

// --- messages

// Rounds of a scattered alltoall that are posted at once. Measured, 2-core EPYC (family 26), two
// hosts of scripts/cluster, 2 x 4 processes, 64 KiB, 2026-11-26, us: 1, 2, 4, 8, 16 rounds 538,
// 505, 463, 441, 429; 8 B 179, 161, 140, 137, 132. With 16, ranks of one node read at once what
// they reach faster one by one.
inline constexpr int rounds_at_once = 8;

// --- the shared block (block/)

// The rest of a flag's line.
inline constexpr std::int64_t inline_max = 48;
// Operations that a rank may be ahead of the slowest one, if these take more than a slot.
inline constexpr int window = 8;
// One more, so that it is odd: two ranks that take turns as roots write where they have read.
inline constexpr int places = window + 1;
/// Seats of a rank, a power of two, and slots: it may be as many operations ahead that take no
/// more, or one less. Ranks that take turns on their CPUs are switched once in that many. Measured,
/// bench collectives, 8 bytes, 8 ranks on a 2-core EPYC, 2026-11-23, 8 and 64 operations: scan 2.3
/// and 0.7 us.
constexpr int seats_for(bool crowded) {
  return crowded ? 64 : window;
}
inline constexpr int slots_in_crowd = 33;
constexpr int slots_for(bool crowded) {
  return crowded ? slots_in_crowd : places;
}
// Of a payload that is so short the first line outside the seat is fetched while its flag is
// awaited; of a longer one it would only be torn from its writer. So places do not change then.
inline constexpr std::int64_t look_ahead_max = 128;
// Ranks (or nodes) that meet at one node: few enough that their atomic additions do not queue up,
// and that a fold over them is one scan of cached lines; to be measured by bench/collectives.
inline constexpr int fan = 8;
// Ranks that look at each other's seats directly when each has a core; at most `fan`, so that the
// fold is the same as at a node. To be measured by bench/collectives.
inline constexpr int flat_max = fan;
// The last rank of a short scan looks at all seats; more ranks hand on partial results.
inline constexpr int scan_ranks_max = 16;
// What every first cache has room for: so much go round slots between few ranks, as pieces and
// strips do anyway. Measured, bench collectives, 2 processes, 2-core EPYC, 2026-11-22, 4 KiB in
// slots and not: allgather 0.29 and 0.25 us (far 0.82 and 0.68), reduce 0.21 and 0.19.
inline constexpr std::int64_t first_cache = 32 << 10;
// What is folded at a time: it stays in the first cache beside one operand.
inline constexpr std::int64_t fold_bytes = first_cache / 4;
/// A progress thread copies so many bytes before it looks whether its rank comes back: some 10 us.
inline constexpr std::int64_t visitor_bytes = 4 * first_cache;
// Pieces and strips. While ranks write and read at the same time, a vector has several: 16 KiB cost
// as much as handing them over, and a core's cache of 1 MiB holds three strips of itself and of
// another. With more ranks than CPUs one works after the other, and each piece or strip costs
// turns. Measured, bench collectives, 2-core EPYC, 2026-11-22: between 2 ranks allgather of 256
// KiB, strips of 16, 32, 64 KiB: near cores 11.0, 10.6, 10.6 us, far 21, 19.2, 17.4; 64 KiB in one
// strip 2.9, in two 2.6. 4 ranks, strips of 64, 128, 256 KiB: alltoall of 64 KiB 33, 26, 23; pieces
// of 16, 32, 64 KiB: bcast of 1 MiB 88, 75, 60. 2 ranks, pieces of 16, 32, 64 KiB, a plain program
// that does as bcast does: 256 KiB far 12.9, 11.2, 11.5, near 6.8, 6.7, 6.8.
inline constexpr std::int64_t least_piece = 16 << 10;
inline constexpr std::int64_t most_piece = 32 << 10, most_piece_in_crowd = 64 << 10;
inline constexpr std::int64_t most_strip = 64 << 10, most_strip_in_crowd = 256 << 10;

// --- boards (boards/)

// Enough for a few operations that overlap.
inline constexpr int board_count = 4;
/// Of a rank's area at a board, of which half is filled while the other is read: it stays in the
/// cache of its core. Of ranks that take turns on their CPUs each half takes a turn of all, so
/// areas are larger, as far as those of a communicator are 4 MiB together. Measured, 4 processes
/// on a 2-core EPYC (family 26), areas of 64, 128, 256, 512 KiB, 2026-11-26, us: allreduce of 1 MiB
/// by a tree 650, 336, 204, 152; alltoall of 64 KiB 58, 28, 21, 18.
constexpr std::int64_t area_bytes(bool crowded, int ranks) {
  constexpr std::int64_t least = 64 << 10, most = 256 << 10, of_all = 4 << 20;
  return crowded ? std::clamp(of_all / (board_count * ranks) / 64 * 64, least, most) : least;
}
// Lines of a board: more ranks send messages.
inline constexpr int board_ranks_max = 512;
// A strip of ranks' own buffers: no more, of which the first ranks would only begin later.
inline constexpr std::int64_t least_strip = 16 << 10, most_direct_strip = 256 << 10;

// --- schedules

// Scratch memory that an idle one may keep: a few of them are no burden, while the page faults of a
// fresh block are paid only where they are small against the operation itself; to be measured by
// bench/collectives.
inline constexpr std::int64_t kept_bytes_max = 16 << 20;

// --- the choice (choose.cc, walk.cc)

// What another way must cost of what a slot, or the block, costs: that much the walk may be wrong.
// Measured / walked, 2-core EPYC, 2026-11-23: up to 512 bytes 0.4 to 0.9, from 64 KiB on 1.2 to 1.9
// in the block and 1.3 to 2.1 at boards.
inline constexpr double less_than_slots = 0.67, less_than_block = 0.8;
// Ways that take turns (explore.h): what ranks tell each other of them fits a flag's line.
inline constexpr int tried_max = 4;
// Seconds that a call takes by the model: of shorter ones readings of the clock (25 ns) and the
// bookkeeping would be a share to speak of. What slots hold is not tried at all.
inline constexpr double least_tried = 0.5e-6;
// Calls before the first look: what they touch first (buffers, rooms of pieces) is not there
// before, and a size that comes seldom is not worth a look.
inline constexpr int calls_before_looks = 32;
// A series takes about so long, that ranks come to run ahead of each other, and caches to hold what
// they do in the long run; and no longer, because it may go a slow way. Measured, gather between 2
// far threads, 64 KiB by pieces, 2-core EPYC, 2026-11-23: 4.7 us in series of 4 calls, 3.85 always.
inline constexpr double series_seconds = 30e-6;
inline constexpr int least_series_calls = 4, most_series_calls = 16;
// What looks may take of all calls, and of the time spent in them.
inline constexpr double looks_share = 0.008;
// Another way is taken if it takes less than this of the one before, in two looks: seldom by
// chance, and less is not worth what a change leaves cold.
inline constexpr double faster_to_change = 0.93;
// One look at a time: what a call takes depends on what others leave. Calls of other sizes that
// wait for a look to end; a program may never come back to the size that it looks at.
inline constexpr int others_wait = 256;
// Calls until the next look at most, whatever a disturbed one has measured.
inline constexpr double longest_pause = 1 << 20;
// Of more ranks that do all the same, each with others, only one is walked: p^2 steps would take
// milliseconds.
inline constexpr int walked_one_by_one = 16;
// Of more ranks on several nodes fewer nodes are walked, a power of two of them that hold no more,
// and what the others cost follows from these, half and a quarter as many (walk.h). Where the
// fewest hold more, messages between all are not priced, if there are phases.
inline constexpr int walked_across = 256, fewest_nodes_walked = 8;
// The same, where all do the same and one is walked: of more ranks its 2 p steps take milliseconds.
inline constexpr int walked_alike_across = 16 << 10;
// Another rank of the node is finding out what to take: looks follow each other ever more slowly,
// as hundreds may wait for one that needs the CPU; after so long it must have died.
inline constexpr unsigned first_look_us = 50, ledger_patience_us = 2000000;
// Blocks that the leader of a node copies one by one in an alltoall: a schedule of a few MiB.
inline constexpr std::int64_t leader_blocks_max = 32 << 10;
// What a rank holds of an alltoall beside its user's buffers: a leader three times all blocks of
// its node, in parts each rank twice its own.
inline constexpr std::int64_t held_max = 64 << 20;
inline constexpr std::int64_t walked_bytes_across = 64 << 20;

// --- across nodes (nodes/)

// What a way is priced for where no rank knows how long all blocks are; long ones go by themselves
// anyway.
inline constexpr std::int64_t usual_block = 64;

// Segments of a vector, of which one is between nodes while others are on them. A shorter one costs
// as much as its messages' latency; more would need phases of a board that it does not have.
inline constexpr std::int64_t least_segment = 32 << 10;
inline constexpr int most_segments = 64;

// --- declared clusters (cluster/)

// Steps that are replayed: 1.5 GiB.
inline constexpr std::int64_t replayed_steps_max = 48 << 20;
// Ports of a switch.
inline constexpr std::int64_t least_radix = 4, most_radix = 1024;
// Around the addresses of all ranks in a frame for all agents (launch/branches.h), and in front of
// those of each. A test compares them with such a frame.
inline constexpr std::int64_t addresses_frame_bytes = 28, address_head_bytes = 12;

}  // namespace weft::coll
