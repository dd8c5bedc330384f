// SPDX-License-Identifier: Apache-2.0
//
// Where a rank's thread of weft's own sits, as the launcher writes it into the job's memory. Zero:
// nothing is known (a rank alone, another launcher, ranks that are not bound).
#pragma once

#include <cstdint>
#include <span>

namespace weft::topo {

enum class SeatName : std::uint8_t {
  automatic,       // by the kind of work
  dedicated_core,  // an idle core, the nearest
  same_core,       // where the rank computes (the paper's no-smt-bind)
  smt,             // a sibling hardware thread of that
  smt_sleep,       // the same, and sleeps between its looks
  llc,             // an idle core of the same last-level cache
  listed           // by CPU number
};

struct SeatRecord {
  static constexpr int most_cpus = 12;
  std::int32_t cpus[most_cpus] = {};
  std::uint16_t count = 0;  // of them; 0: those of the rank
  std::uint16_t cores = 0;  // of the rank; 0: nothing is known
  SeatName is = SeatName::automatic;
  bool idle = false;          // nobody computes on that core, as far as the launcher knows
  bool own = false;           // the core is the rank's: its own threads may compute there
  bool network_only = false;  // it is for the steps of the network

  std::span<const std::int32_t> list() const { return {cpus, count}; }
};

}  // namespace weft::topo
