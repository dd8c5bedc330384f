// SPDX-License-Identifier: Apache-2.0
//
// Where spawned ranks get a place: which numbers of the job, and which of its nodes. Asked by who
// serves orders to spawn (memory/spawning.h): mpiexec, for itself or for all its agents.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/spawning.h"
#include "options.h"

namespace weft::launch {

/// Of the ranks of one order.
struct Seats {
  memory::World world;
  std::vector<std::int32_t> node_of;
};

class Seating {
 public:
  /// `started`, `places`: ranks that the job starts with, and for how many there is room.
  Seating(const Options& options, int started, int places);

  /// Places in a row; each command's ranks are on the first hosts that have room, of those that it
  /// names, and where the fewest are too many if none has; those of a node one after the other.
  /// Throws Failure, without effect: there is no room.
  Seats reserve(const std::vector<memory::Command>& commands);
  void free(const Seats& seats);

 private:
  void spread(const memory::Command& command, std::vector<int>& room,
              std::vector<std::int32_t>& node_of) const;
  std::vector<bool> allowed(const std::string& hosts) const;

  const Options& options_;
  int started_;
  std::vector<bool> taken_;  // behind the places of the ranks that the job started with
  std::vector<int> room_;    // of each node: CPUs or slots without a rank; may be negative
};

}  // namespace weft::launch
