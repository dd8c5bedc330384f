// SPDX-License-Identifier: Apache-2.0
//
// What the threads of OpenMP do, as far as it decides whether they are idle: of which team they
// are, whether they wait at a barrier or for a mutual-exclusion construct, and for which. Told by
// the runtime's tool interface (ompt.cc) or by entry points that are called in libgomp's place
// (gomp.cc); asked by idle(), with the paper's three semantics (MT-MPI, ICS'14, section 3.1.1): the
// answer is of the asking thread, of the OpenMP region it is in, and of this moment.
//
// And the gate: a thread that waits for a critical section runs no tasks. Where MPI was called in
// a critical section before, those who want to enter it wait here and help meanwhile. Keys are
// exact: with a gate for several sections, nested ones would deadlock.
//
// All of it is off until the first job that a thread of OpenMP offers, or the first question, which
// may therefore see less than there is.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::parallel::openmp {

/// Names a construct for mutual exclusion, in this process; 0: none.
using Mutex = std::uint64_t;
/// Names a team; 0: none.
using Team = std::uint64_t;
Team new_team();

/// A thread that OpenMP knows. Others read the atomics; the rest is the thread's own.
class alignas(128) Member {
 public:
  /// The calling thread's; null: there are too many threads.
  static Member* mine();

  /// An implicit task of `team` begins, and ends; where the thread was before.
  struct Place {
    Team team;
    bool waits;
  };
  Place enter(Team team);
  void leave(const Place& before);
  void reach_barrier();
  void pass_barrier() { waits_.store(false, std::memory_order_relaxed); }
  /// It runs an explicit task, perhaps at a barrier.
  void run_task(bool runs) { runs_task_.store(runs, std::memory_order_relaxed); }
  /// It has made explicit tasks for its team, which may run them at the barrier, unseen.
  void made_tasks() {
    made_tasks_.store(team_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  void want(Mutex mutex);
  void have(Mutex mutex);
  void release(Mutex mutex);
  /// A job was offered: from now on those who want what the thread has wait at a gate.
  void open_gates();

 private:
  friend struct Query;
  friend class Leaver;
  static constexpr int most_held = 16;
  bool holds(Mutex mutex) const;

  std::atomic<bool> used_{false};
  std::atomic<bool> waits_{false}, runs_task_{false};
  std::atomic<Team> team_{0}, made_tasks_{0};
  std::atomic<Mutex> wanted_{0};
  Mutex held_[most_held] = {};
  Mutex gated_[most_held] = {};
  int held_count_ = 0, gated_count_ = 0;
};

/// The calling thread's last region outside of all others: how many threads it asked for (0: the
/// default); -1: there was none yet.
extern constinit thread_local int last_request;

/// Are threads watched? Relaxed: who sees it late tells less.
extern constinit std::atomic<bool> watched;
/// From now on. Called often.
void watch();

struct Idle {
  int guaranteed = 0, temporary = 0;
};
Idle idle();

}  // namespace weft::parallel::openmp
