// SPDX-License-Identifier: Apache-2.0
//
// Which CPUs each rank of a node gets: cores/ranks neighbouring cores, inside one cache or memory
// domain where such slices fit, else cut one after the other. More ranks than cores: consecutive
// ranks share a core (its hardware threads first), as evenly as possible. A pure function of the
// machine and the number of ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topo/topology.h"

namespace weft::topo {

/// The CPUs of one rank, grouped by core.
struct Slice {
  std::vector<std::vector<int>> places;
  std::vector<int> cpus() const;
  /// The slice as one OpenMP place, "{0,1,8,9}". Not one place per core: OpenMP runtimes bind the
  /// initial thread to its place at start, and every other thread of the program (std::thread,
  /// numeric libraries) would inherit that single core.
  std::string omp_places() const;
};

/// One slice per rank; never empty, for any nranks >= 1.
std::vector<Slice> slices(const Topology& topology, int nranks);

/// The same for a part of the machine.
std::vector<Slice> slices(std::span<const Core> cores, int nranks);

}  // namespace weft::topo
