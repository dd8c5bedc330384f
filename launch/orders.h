// SPDX-License-Identifier: Apache-2.0
//
// Ranks that spawn ranks (memory/spawning.h): hearing of their orders. They come in shared memory,
// mpiexec waits in poll; so a thread sleeps until there is one and writes into a pipe.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "memory/spawning.h"
#include "options.h"
#include "plan.h"

namespace weft::launch {

class Orders {
 public:
  /// Takes the job's orders from now on, if it has places for more ranks, or its directory is
  /// asked.
  explicit Orders(memory::Job& job);
  ~Orders();
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

  /// For poll: readable when there are orders; -1: there never are.
  int fd() const { return pipe_[0]; }
  std::vector<std::uint64_t> take();

 private:
  memory::Job& job_;
  int pipe_[2] = {-1, -1};
  std::atomic<bool> ends_{false};
  std::thread listener_;
};

/// An order as processes, for the places of `world`. Options are those of the job. Throws Failure.
Plan plan_order(const Options& options, const std::vector<memory::Command>& commands,
                const memory::World& world, memory::Job& job, const std::string& debug_directory);

}  // namespace weft::launch
