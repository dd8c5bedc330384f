// SPDX-License-Identifier: Apache-2.0
//
// The rank's lock. Entry points hold it: all of them when the program asked for
// MPI_THREAD_MULTIPLE, else those that threads may call at any time, before MPI_Init too (MPI-5.0
// §11.4.1). Whoever waits lets go of it, whole (pt2pt::wait_until). Recursive, because a user's
// callback (operation, attribute, error handler, generalized request) runs inside an entry point
// and may call MPI.
//
// Which algorithm it uses (docs/locking.md) can be changed by its holder: those who wait at the old
// one find out when they get it. With sync.lock=auto that happens at MPI_Init_thread, and once more
// when more threads meet here than have a CPU.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

#include "base/counters.h"
#include "sync/locks.h"

namespace weft::sync {

class RankLock {
 public:
  /// A mutex, until told otherwise.
  RankLock();

  struct Choice {
    LockKind kind = LockKind::automatic;
    LockSettings settings;
    int cpus = 1;                  // that this rank's threads may share
    Counters* counters = nullptr;  // null: count nothing
    bool time_waits = false;
  };
  /// By the holder, before other threads of the rank may call MPI (MPI_Init_thread).
  void enable(const Choice& choice);
  bool enabled() const { return enabled_; }

  void hold() { take(Priority::high); }
  void release() {
    if (--depth_ == 0) pass_on();
  }

  /// Let go of all levels, to wait; returns how many there were. Nothing if not enabled.
  int let_go() { return enabled_ ? let_go_of_all() : 0; }
  /// The opposite: as one who has work to do, or as one who only looks.
  void take_back(int depth) {
    if (enabled_) take_all(Priority::high, depth);
  }
  void take_back_low(int depth) {
    if (enabled_) take_all(Priority::low, depth);
  }
  /// For the holder.
  LockKind kind() const { return use_.load(std::memory_order_relaxed)->kind; }

 private:
  enum class Priority : bool { high, low };
  /// A lock and what threads must know before they hold it; does not change.
  struct Use {
    std::unique_ptr<Lock> lock;
    LockKind kind;
    int leave_at;  // threads that meet here before another lock is better; 0: no number is
    bool timed;
  };
  void take(Priority priority);
  void take_all(Priority priority, int depth);
  void acquire(Priority priority);
  bool acquire_from(Use& use, Priority priority);
  void count_taken(std::int64_t asked_ns);
  void change_to(LockKind kind);
  int let_go_of_all();
  void pass_on();

  // Read by all, seldom written: by the holder.
  std::atomic<Use*> use_;
  bool enabled_ = false;
  Choice choice_;
  Use uses_[3];  // all of them: somebody may still wait at an old one
  int used_ = 0;
  std::atomic<int> contenders_{0};  // threads that found it taken; if leave_at
  // The holder's. Others read `owner_` only to find that they are not it.
  alignas(64) std::atomic<pthread_t> owner_{};
  int depth_ = 0;
  pthread_t last_{};
};

}  // namespace weft::sync
