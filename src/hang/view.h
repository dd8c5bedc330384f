// SPDX-License-Identifier: Apache-2.0
//
// What can be seen of a job from outside: every rank's state and the waits its threads noted. A
// plain copy, so that what is concluded from it (analysis.h, faults.h) is a function of it alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hang/record.h"

namespace weft::hang {

/// A thread that sleeps outside MPI until another thread of its process wakes it.
struct Sleeper {
  enum class For { mutex, thread, something };
  std::int32_t tid = 0;
  For what = For::something;
  std::int32_t other = 0;  // the thread that holds the mutex, or that has to end
};

struct Thread {
  Record record;
  std::uint64_t looks = 0;
};

struct RankView {
  enum class State { not_initialized, running, left };
  State state = State::running;
  std::int32_t pid = 0;
  std::vector<Thread> threads;    // those that wait in MPI
  bool more_threads = false;      // that wait in MPI and could not be noted
  bool others_can_move = false;   // threads of the process that are not in MPI (sleepers.h)
  std::vector<Sleeper> sleepers;  // those of them that cannot
  Helper helper = Helper::none;   // what its progress thread does
  memory::World world;            // of a spawned rank; no size: that of the start
  std::string host;               // of a spawned rank, in a job on several

  /// Threads that are not in MPI may call it.
  bool is_multiple() const { return !threads.empty() && threads[0].record.multiple != 0; }
};

struct JobView {
  std::int64_t now_ns = 0;
  std::vector<RankView> ranks;

  const RankView& rank(std::int32_t world_rank) const {
    return ranks[static_cast<std::size_t>(world_rank)];
  }
};

JobView look_at(memory::Job& job, std::int64_t now_ns);

}  // namespace weft::hang
