// SPDX-License-Identifier: Apache-2.0
//
// A declared machine, and the cache lines on it: which core has a line, and what it costs another
// one to get it. Cores and levels are hwloc's (synthetic form), prices those of model::Parameters.
//
// The protocol is MSI with a directory: a line is modified in one core's cache, or shared by some.
// A read moves it from where it is; a write takes it from all that have it, at the price of the
// farthest. One line moves to one core at a time, so N cores that want the same line wait for each
// other. A core waits for what it reads, not for what it writes: stores go into a buffer, whose
// lines come side by side and are written in order (total store order, as x86 has it); an atomic
// read-modify-write waits until the buffer is empty. Not in it: loads side by side, prefetching,
// the size of caches and of the store buffer.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.h"
#include "topo/hierarchy.h"
#include "topo/topology.h"

namespace weft::simulator {

inline constexpr int most_cores = 512;

class Machine {
 public:
  /// hwloc's synthetic form, e.g. "pack:4 numa:2 l3:1 core:9 pu:1".
  static Result<Machine> declare(const std::string& synthetic);

  int cores() const { return cores_; }
  int levels() const { return static_cast<int>(prices_.size()); }
  const std::string& name(int level) const { return names_[static_cast<std::size_t>(level)]; }
  /// What a line costs between two cores whose smallest common part is of this level.
  const model::Level& price(int level) const { return prices_[static_cast<std::size_t>(level)]; }
  int level(int a, int b) const { return level_[static_cast<std::size_t>(a * cores_ + b)]; }
  /// The memory domain (NUMA node) of a core.
  int domain(int core) const { return domains_[static_cast<std::size_t>(core)]; }
  int domains() const { return domain_count_; }
  const topo::Topology& topology() const { return topology_; }

 private:
  int cores_ = 0, domain_count_ = 1;
  std::vector<model::Level> prices_;
  std::vector<std::string> names_;
  std::vector<std::uint8_t> level_;
  std::vector<int> domains_;
  topo::Topology topology_;
};

/// Where a line came from: a level of the machine, or no other core had it.
inline constexpr int from_nowhere = -1;

struct Transfer {
  double ready_ns;  // when the core goes on
  int level;
};

class Lines {
 public:
  explicit Lines(const Machine& machine);
  /// The core's access at that time. `streamed`: one of several lines in a row, but not the first.
  Transfer read(std::uintptr_t line, int core, double now_ns, bool streamed);
  /// Into the store buffer.
  Transfer write(std::uintptr_t line, int core, double now_ns, bool streamed);
  /// An atomic read-modify-write.
  Transfer modify(std::uintptr_t line, int core, double now_ns);
  /// When the core's store buffer is empty.
  double drained_ns(int core) const { return drained_ns_[static_cast<std::size_t>(core)]; }

 private:
  struct Line {
    std::uintptr_t name = 0;
    double free_ns = 0;  // its last move is over
    int last = -1;       // core that wrote it last, or got it first
    std::bitset<most_cores> holders;
  };
  Line& find(std::uintptr_t line);
  void grow();
  double cost_ns(int level, bool streamed) const;
  int take(Line& line, int core);

  const Machine& machine_;
  std::vector<Line> table_;  // open addressing
  std::size_t used_ = 0;
  std::vector<double> drained_ns_;
};

}  // namespace weft::simulator
