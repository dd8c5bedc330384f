// SPDX-License-Identifier: Apache-2.0
//
// Where the ranks of a job run: asked of the machine, written into the job for the ranks to see,
// and told to the user.
#pragma once

#include <string>
#include <vector>

#include "memory/job.h"
#include "options.h"
#include "programs.h"
#include "topo/seats.h"
#include "topo/topology.h"

namespace weft::launch {

struct Places {
  int first = 0;  // rank of this host
  std::vector<topo::Slice>
      slices;          // by rank from `first` on; empty: nothing is known of where ranks run
  bool bound = false;  // false on a declared machine
  std::vector<topo::SeatRecord> seats;  // by rank: of its progress thread
  std::vector<std::string> why;         // the ranks' threads sit there
  std::vector<topo::Level> levels;      // of the machine
  std::string count;                    // "Machine 1, Package 2, ..."
};

/// `as_threads`: ranks of a node are threads of one process, which may share progress threads.
/// Throws Failure where the machine cannot give what --map-by and --bind-to want.
Places place_ranks(const Options& options, bool as_threads, memory::Job& job);

/// One line: programs, rank modes and CPUs.
std::string describe(const Options& options, const std::vector<Runnable>& runnables,
                     const Places& places);
/// Where the progress threads sit, and why; "" if the job has none.
std::string describe_seats(const Places& places);
/// One line for each rank: its CPUs, and the parts of the machine they belong to.
std::string report_bindings(const Options& options, const Places& places);

}  // namespace weft::launch
