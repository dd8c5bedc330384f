// SPDX-License-Identifier: Apache-2.0
//
// Where threads of weft's own sit: one for each rank, by name, beside the cores on which ranks
// compute. A pure function of the machine and of the ranks' slices. The names are those of Denis,
// Jaeger, Taboada, "Progress Thread Placement for Overlapping MPI Non-Blocking Collectives using
// Simultaneous Multi-Threading" (COLOC 2018), and some more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/err.h"
#include "topo/seat.h"
#include "topo/slices.h"

namespace weft::topo {

/// What a thread does: copy and fold, which moves bytes through the caches of its core; or the
/// steps of a network, which take little time and leave the caches alone.
enum class SeatWork : std::uint8_t { memory, network };

struct SeatWish {
  SeatName name = SeatName::automatic;
  std::vector<int> cpus;  // if listed: for one thread after the other, and from the start again
};
/// "auto", "dedicated-core", "same-core", "smt", "smt-sleep", "llc", or CPUs: "8-11,15".
Result<SeatWish> seat_wish(std::string_view text);
std::string_view name_of(SeatName name);

/// Of one thread.
struct Seat {
  SeatName is = SeatName::same_core;  // what it came to be
  bool idle = false;                  // nobody computes on that core
  bool own = false;                   // it is one of the rank's
  std::vector<int> cpus;              // empty: those of the rank
  std::string why;                    // in words
};

/// One seat for each slice, or for so many in a row. Ranks compute on the first `computing` cores
/// of their slices; a core is idle if no rank computes there and no other thread sits there. What a
/// wish does not find is same_core, and `why` says what is missing.
///
/// `auto`: for work on memory an idle core, nearest first, else any of the rank's; never a sibling,
/// whose caches the rank computes in (the paper's section 5). For a network a sibling too, with
/// sleeps.
std::vector<Seat> seats(std::span<const Core> cores, std::span<const Slice> slices, int computing,
                        const SeatWish& wish, SeatWork work, std::size_t ranks_per_thread = 1);

/// Of a rank's thread for all work; but if ranks are on several nodes, and no core is idle, for the
/// steps of the network alone, on the seat `network`.
std::vector<SeatRecord> seat_records(std::span<const Slice> slices, std::span<const Seat> memory,
                                     std::span<const Seat> network, bool several_nodes);

}  // namespace weft::topo
