// SPDX-License-Identifier: Apache-2.0
//
// An agent's part in ranks that spawn ranks on several hosts (spawn_frames.h): what mpiexec places
// is written into this host's memory of the job, from where the worker takes it. Belongs to the
// agent.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "frames.h"
#include "memory/job.h"
#include "spawn_frames.h"

namespace weft::launch {

class SpawnedHere {
 public:
  using Send = std::function<void(FrameKind kind, std::string_view payload)>;
  SpawnedHere(const Options& options, memory::Job& job, Send send)
      : options_(options), job_(job), send_(std::move(send)) {}

  /// From mpiexec. Throws Failure where that cannot be.
  void take(const Frame& frame);
  /// Some run, on this host or another.
  bool are_there() const { return !families_.empty(); }
  /// Is the rank here, of the start or spawned?
  bool is_here(int rank) const {
    return rank >= 0 && rank < job_.used() &&
           (job_.nodes() == 1 || job_.node_of(rank) == options_.node);
  }
  /// Ranks here may have told their addresses, have come to MPI_Finalize, or seen guests end.
  void look();

 private:
  struct Family {
    memory::World world;
    std::uint64_t at = 0;              // its order
    std::vector<std::int32_t> silent;  // ranks here that have not told their addresses
  };

  void place(const Placement& placement);
  void answer(const Answer& answer);
  void learn(const Told& told);
  void vacate(std::uint64_t serial);
  void tell_addresses();
  void tell_who_leaves();
  void tell_ended_guests();
  void leave(const Leaving& leaving);
  bool know_end(int guest);

  const Options& options_;
  memory::Job& job_;
  Send send_;
  std::map<std::uint64_t, Family> families_;
  bool have_been_ = false;                 // some: others may wait for ranks that leave
  std::vector<std::uint32_t> told_leave_;  // by rank: 1 + the incarnation that has left
  std::vector<bool> ended_guests_;         // by number: all hosts know
};

}  // namespace weft::launch
