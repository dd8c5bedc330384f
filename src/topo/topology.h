// SPDX-License-Identifier: Apache-2.0
//
// What the node is: its cores in an order in which neighbours are near, the domains each core
// belongs to, and the levels into which hwloc divides it. A plain value, read once from hwloc: this
// node, restricted to the CPUs this process may use, or a machine that hwloc's own variables
// HWLOC_SYNTHETIC and HWLOC_XMLFILE declare. Only the launcher and the tools link hwloc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/err.h"

namespace weft::topo {

/// One core: its hardware threads (operating system numbers) and the domains around it, each
/// numbered from 0 over the machine.
struct Core {
  std::vector<int> cpus;
  int llc = 0;      // last-level cache (the NUMA domain where there is no L3)
  int numa = 0;     // memory domain
  int package = 0;  // socket
};

/// A level of the machine: its parts, numbered from 0, and which of them holds a CPU.
struct Level {
  std::string name;  // hwloc's: "Package", "NUMANode", "L3Cache", ...
  int parts = 0;
  std::vector<int> part_of;  // by operating system number
  /// -1 if the CPU is in none of them.
  int part(int cpu) const {
    return cpu < static_cast<int>(part_of.size()) ? part_of[static_cast<std::size_t>(cpu)] : -1;
  }
};

/// Caches of one kind: bytes of one, and how many CPUs share it.
struct Cache {
  std::int64_t bytes = 0;
  int cpus = 0;
  int level = 0;  // 2 or 3
};

/// How near two cores are to each other.
enum class Near { core, llc, numa, package, machine };

class Topology {
 public:
  /// This node, without CPUs that the process may not use; or the machine that the environment
  /// declares in its place (HWLOC_SYNTHETIC="pack:4 core:8", HWLOC_XMLFILE).
  static Result<Topology> this_node();
  /// A machine described in hwloc's synthetic form, e.g. "package:2 l3:2 core:4 pu:2".
  static Result<Topology> synthetic(const char* description);

  /// Can processes be bound to these CPUs? Not on a declared machine.
  bool is_here() const { return is_here_; }
  std::span<const Core> cores() const { return cores_; }
  /// From the machine to one hardware thread; each has at least as many parts as the one before.
  std::span<const Level> levels() const { return levels_; }
  /// Empty where hwloc reports none.
  std::span<const Cache> caches() const { return caches_; }
  /// "Machine 1, Package 2, ..., PU 64": how many parts each level has.
  std::string count_levels() const;
  /// Hardware threads of all cores.
  int cpus() const;
  /// Domains of each kind that hold at least one core.
  int numas() const;
  int packages() const;
  Near near(int core_a, int core_b) const;
  /// Memory distances between NUMA domains, row by row as firmware tells them (10 is local);
  /// empty where it tells none.
  std::span<const int> distances() const { return distances_; }

  /// A few lines for people: what there is, core by domain.
  std::string describe() const;

 private:
  static Result<Topology> load(const char* synthetic_or_null);
  std::vector<Core> cores_;
  std::vector<Level> levels_;
  std::vector<int> distances_;
  std::vector<Cache> caches_;
  bool is_here_ = true;
};

}  // namespace weft::topo
