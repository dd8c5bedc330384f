// SPDX-License-Identifier: Apache-2.0
//
// A rank's locks: one of each communication context, one of its objects (docs/locking.md). Entry
// points hold one when the program asked for MPI_THREAD_MULTIPLE; else only those that threads may
// call at any time, before MPI_Init too, hold that of the objects (MPI-5.0 §11.4.1). Whoever waits
// lets go of it, whole (pt2pt::wait_until). Recursive, because a user's callback (operation,
// attribute, error handler, generalized request) runs inside an entry point and may call MPI.
//
// Which algorithm it uses (docs/locking.md) can be changed by its holder: those who wait at the old
// one find out when they get it. With sync.lock=auto that happens at MPI_Init_thread, and when more
// threads meet here than have a CPU; and as long as one thread calls, SoleLock is in its place.
//
// With WEFT_STATS=1 it also measures where the rank's threads spend their time in MPI, as the paper
// does (figure 3): a clock that whoever holds the lock reads when he begins to do something else.
// The entry points say when their calls began, so that a reader sees whether the parts are the
// whole.
#pragma once

#include <atomic>
#include <memory>

#include "base/counters.h"
#include "sync/cpu_map.h"
#include "sync/locks.h"
#include "sync/sole_lock.h"

namespace weft::sync {

class RankLock {
 public:
  /// A mutex, until told otherwise.
  RankLock();

  struct Choice {
    LockKind kind = LockKind::automatic;
    LockSettings settings;
    int cpus = 1;                  // that this rank's threads may share
    SoleLock* sole = nullptr;      // in whose place it may be; outlives it
    Counters* counters = nullptr;  // null: count nothing
  };
  /// By the holder, before other threads of the rank may call MPI (MPI_Init_thread).
  void enable(const Choice& choice);
  /// Stays a mutex: for locks that are held for moments. Nobody waits for it yet.
  void enable() { enabled_ = true; }
  bool enabled() const { return enabled_; }

  /// From here on, measure into `counters`. By the holder, before enable().
  void measure(Counters& counters);
  bool measures() const { return clock_ != nullptr; }
  /// The time since the last call was spent so. By the holder; or by the only thread that calls
  /// MPI, if the lock is not enabled: then its calls are begun and ended here, too.
  void spent(std::uint64_t Counters::*how) {
    if (clock_ != nullptr) [[unlikely]]
      clock_->spent(how);
  }
  void begin_call() { clock_->begin_call(); }
  void end_call() { clock_->end_call(); }

  void hold() { take(Priority::high); }
  /// By a visitor, who looks after this context for another one or for nobody's call. Its time is
  /// counted where it comes from, so not here.
  void hold_low() { take(Priority::low); }
  /// By a visitor, too. False: another thread has it.
  bool try_hold();
  /// `call_began_ns`: when the call began whose end this is; 0: that is not measured, or not the
  /// end.
  void release(std::int64_t call_began_ns = 0) {
    if (sole_ != nullptr && sole_->leave()) return;
    if (--depth_ > 0) return;
    if (clock_ != nullptr && enabled_) [[unlikely]]
      return release_timed(call_began_ns);
    pass_on();
  }

  struct Left {
    int depth = 0;
    bool visits = false;
    std::int64_t at_ns = 0;  // if measured
  };
  /// Let go of all levels, to wait. Nothing if not enabled.
  Left let_go() { return enabled_ ? let_go_of_all() : Left{}; }
  /// The opposite: as one who has work to do, or as one who only looks.
  void take_back(const Left& left) {
    if (enabled_) take_all(Priority::high, left);
  }
  void take_back_low(const Left& left) {
    if (enabled_) take_all(Priority::low, left);
  }
  /// Does the calling thread hold it?
  bool is_mine() const {
    // relaxed: only the thread itself stores its name
    return (sole_ != nullptr && sole_->is_mine()) ||
           owner_.load(std::memory_order_relaxed) == this_thread();
  }
  /// For the holder.
  LockKind kind() const { return use_.load(std::memory_order_relaxed)->kind; }
  /// For the holder: may there be more threads than CPUs here?
  bool is_crowded() const { return use_.load(std::memory_order_relaxed)->crowd == Crowd::any; }

 private:
  enum class Priority : bool { high, low };
  /// Threads that meet at the lock, as far as it is good for them: as many as have a CPU, or any
  /// number.
  enum class Crowd : bool { few, any };
  /// A lock and what threads must know before they hold it; does not change.
  struct Use {
    std::unique_ptr<Lock> lock;
    LockKind kind;
    Crowd crowd;
    bool timed;
  };
  struct Clock {
    explicit Clock(Counters& c) : counters(c) {}
    void spent(std::uint64_t Counters::*how);
    void begin_call();
    void end_call();
    void taken(const Left& left, std::int64_t asked_ns, bool by_another);

    Counters& counters;
    const CpuMap& cpus = CpuMap::of_node();
    std::int64_t since_ns = 0;
    bool visits = false;  // the holder
    int last_cpu = 0;     // that took the lock
    int calls = 0;        // nested ones, of the only thread
    std::int64_t call_began_ns = 0;
    // Of all threads, without the lock; the next holder puts them into the counters.
    alignas(64) std::atomic<std::uint64_t> system_calls{0};
    std::atomic<std::uint64_t> release_ns{0};  // spent in handing the lock on
    std::atomic<std::uint64_t> calls_ns{0};    // of the calls that have ended
  };
  void take(Priority priority) {
    if (sole_ != nullptr && sole_->enter()) return;
    if (owner_.load(std::memory_order_relaxed) == this_thread()) {
      ++depth_;
    } else {
      take_slowly(priority, {.depth = 1, .visits = priority == Priority::low});
    }
  }
  void take_all(Priority priority, const Left& left) {
    if (sole_ != nullptr && sole_->enter(left.depth)) return;
    take_slowly(priority, left);
  }
  void take_slowly(Priority priority, const Left& left);
  void acquire(Priority priority);
  bool acquire_from(Use& use, Priority priority);
  void count_taken(const Left& left, std::int64_t asked_ns);
  void change_to(LockKind kind, Crowd crowd);
  Left let_go_of_all() {
    if (sole_ != nullptr && sole_->is_mine()) return {.depth = sole_->let_go()};
    Left left{.depth = depth_};
    depth_ = 0;
    spent(&Counters::issue_ns);
    if (clock_ != nullptr) [[unlikely]] {
      left.visits = clock_->visits;
      left.at_ns = clock_->since_ns;
    }
    pass_on();
    return left;
  }
  void release_timed(std::int64_t call_began_ns);
  void pass_on() {
    owner_.store({}, std::memory_order_relaxed);
    // relaxed: only the holder, this thread, changes it
    use_.load(std::memory_order_relaxed)->lock->release();
  }

  // Read by all, seldom written: by the holder.
  std::atomic<Use*> use_;
  std::unique_ptr<Clock> clock_;  // null: measure nothing
  bool enabled_ = false;
  SoleLock* sole_ = nullptr;
  Choice choice_;
  Use uses_[3];  // all of them: somebody may still wait at an old one
  int used_ = 0;
  std::atomic<int> contenders_{0};  // threads that found it taken; of Crowd::few
  // The holder's. Others read `owner_` only to find that they are not it.
  alignas(64) std::atomic<ThreadName> owner_{};
  int depth_ = 0;
  ThreadName last_{};
};

/// Holds a lock for the length of a scope, if threads can meet there.
class Guard {
 public:
  explicit Guard(RankLock& lock) : Guard(&lock) {}
  explicit Guard(RankLock* lock) : lock_(lock != nullptr && lock->enabled() ? lock : nullptr) {
    if (lock_ != nullptr) lock_->hold();
  }
  ~Guard() {
    if (lock_ != nullptr) lock_->release();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  RankLock* lock_;
};

/// Lets go of a lock for the length of a scope, if this thread holds it: around a callback that may
/// call anything.
class Away {
 public:
  explicit Away(RankLock& lock) : lock_(lock.enabled() && lock.is_mine() ? &lock : nullptr) {
    if (lock_ != nullptr) left_ = lock_->let_go();
  }
  ~Away() {
    if (lock_ != nullptr) lock_->take_back(left_);
  }
  Away(const Away&) = delete;
  Away& operator=(const Away&) = delete;

 private:
  RankLock* lock_;
  RankLock::Left left_;
};

}  // namespace weft::sync
