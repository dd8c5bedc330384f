// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"

namespace weft::sync {
RankLock::RankLock() {
  uses_[used_] = {make_lock(LockKind::mtx, {}), LockKind::mtx, Crowd::any, false};
  use_.store(&uses_[used_++], std::memory_order_relaxed);
}

void RankLock::measure(Counters& counters) {
  clock_ = std::make_unique<Clock>(counters);
  clock_->since_ns = now_ns();
}

void RankLock::enable(const Choice& choice) {
  choice_ = choice;
  if (clock_ != nullptr) {
    choice_.settings.system_calls = &clock_->system_calls;
    clock_->since_ns = now_ns();  // what was before is in no call that is measured
  }
  enabled_ = true;
  if (choice.kind != LockKind::automatic) return change_to(choice.kind, Crowd::any);
  sole_ = choice.sole;
  change_to(choice.settings.domains > 1 ? LockKind::hclhub : LockKind::clhub,
            choice.cpus > 1 ? Crowd::few : Crowd::any);
}

/// By the holder.
void RankLock::change_to(LockKind kind, Crowd crowd) {
  Use& old = *use_.load(std::memory_order_relaxed);
  Use& next = uses_[used_++];
  LockSettings settings = choice_.settings;
  if (choice_.kind == LockKind::automatic && crowd == Crowd::any)
    settings.patience = little_patience;
  next = {make_lock(kind, settings), kind, crowd, measures()};
  next.lock->acquire();
  use_.store(&next, std::memory_order_release);  // pairs with acquire()
  old.lock->release();
}

void RankLock::take_slowly(Priority priority, const Left& left) {
  if (sole_ != nullptr) sole_->join();
  const bool timed = use_.load(std::memory_order_acquire)->timed;
  const std::int64_t asked = timed ? now_ns() : 0;
  acquire(priority);
  owner_.store(this_thread(), std::memory_order_relaxed);
  depth_ = left.depth;
  if (choice_.counters != nullptr) count_taken(left, asked);
}

bool RankLock::try_hold() {
  if (sole_ != nullptr) {
    if (sole_->is_mine()) return false;
    if (sole_->enter()) return true;
    sole_->join();
  }
  Use* use = use_.load(std::memory_order_acquire);  // pairs with change_to()
  if (is_mine() || !use->lock->try_acquire()) return false;
  if (use_.load(std::memory_order_acquire) != use) {
    use->lock->release();
    return false;
  }
  owner_.store(this_thread(), std::memory_order_relaxed);
  depth_ = 1;
  if (choice_.counters != nullptr)
    count_taken({.depth = 1, .visits = true}, use->timed ? now_ns() : 0);
  return true;
}

void RankLock::count_taken(const Left& left, std::int64_t asked_ns) {
  Counters& c = *choice_.counters;
  const ThreadName me = owner_.load(std::memory_order_relaxed);
  count_one(c.lock_taken);  // a visitor that has not yet seen that there are none any more reads it
  const bool by_another = last_ != me;
  if (by_another) ++c.lock_passed;
  last_ = me;
  if (asked_ns != 0) clock_->taken(left, asked_ns, by_another);
}

void RankLock::Clock::spent(std::uint64_t Counters::*how) {
  const std::int64_t now = now_ns();
  if (!visits) counters.*how += static_cast<std::uint64_t>(now - since_ns);
  since_ns = now;
}

void RankLock::Clock::begin_call() {
  if (calls++ == 0) since_ns = call_began_ns = now_ns();
}

void RankLock::Clock::end_call() {
  spent(&Counters::issue_ns);
  if (--calls == 0) counters.call_ns += static_cast<std::uint64_t>(since_ns - call_began_ns);
}

void RankLock::Clock::taken(const Left& left, std::int64_t asked_ns, bool by_another) {
  since_ns = left.at_ns != 0 ? left.at_ns : asked_ns;
  visits = left.visits;
  spent(&Counters::sync_ns);
  counters.lock_longest_wait_ns =
      std::max(counters.lock_longest_wait_ns, static_cast<std::uint64_t>(since_ns - asked_ns));
  // relaxed: counts
  counters.lock_system_calls = system_calls.load(std::memory_order_relaxed);
  counters.sync_ns += release_ns.exchange(0, std::memory_order_relaxed);
  counters.call_ns += calls_ns.exchange(0, std::memory_order_relaxed);
  const int cpu = sched_getcpu();
  if (by_another) {
    switch (cpus.between(last_cpu, cpu)) {
      case Distance::cluster:
        ++counters.lock_passed_cluster;
        break;
      case Distance::domain:
        ++counters.lock_passed_domain;
        break;
      case Distance::far:
        ++counters.lock_passed_far;
        break;
    }
  }
  last_cpu = cpu;
}

/// Handing the lock on is time in MPI too: of SYNC, as waiting for it is.
void RankLock::release_timed(std::int64_t call_began_ns) {
  spent(&Counters::issue_ns);
  Clock& clock = *clock_;
  const std::int64_t began = clock.since_ns;  // the next holder changes both
  const bool visited = clock.visits;
  pass_on();
  if (visited) return;
  const std::int64_t now = now_ns();
  // relaxed: counts
  clock.release_ns.fetch_add(static_cast<std::uint64_t>(now - began), std::memory_order_relaxed);
  if (call_began_ns == 0) return;
  clock.calls_ns.fetch_add(static_cast<std::uint64_t>(now - call_began_ns),
                           std::memory_order_relaxed);
}

void RankLock::acquire(Priority priority) {
  // acquire: the lock is made; pairs with change_to()
  Use* use = use_.load(std::memory_order_acquire);
  for (;;) {
    const bool outgrown = acquire_from(*use, priority);
    Use* now = use_.load(std::memory_order_acquire);  // only a holder changes it
    if (now == use) [[likely]] {
      if (outgrown) change_to(now->kind, Crowd::any);
      return;
    }
    use->lock->release();
    use = now;
  }
}

/// True if more threads meet at the lock than it is good for.
bool RankLock::acquire_from(Use& use, Priority priority) {
  Lock& lock = *use.lock;
  if (priority == Priority::low) {
    lock.acquire_low();
    return false;
  }
  if (use.crowd == Crowd::any) {
    lock.acquire();
    return false;
  }
  if (lock.try_acquire()) return false;
  // relaxed: a count that decides nothing but how fast this goes
  const int here = contenders_.fetch_add(1, std::memory_order_relaxed) + 1;
  lock.acquire();
  contenders_.fetch_sub(1, std::memory_order_relaxed);
  // They and the thread that had the lock need a CPU each.
  return here >= choice_.cpus;
}

}  // namespace weft::sync
