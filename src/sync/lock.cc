// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.h"

#include <algorithm>

#include "sync/wait.h"

namespace weft::sync {

RankLock::RankLock() {
  uses_[used_] = {make_lock(LockKind::mtx, {}), LockKind::mtx, 0, false};
  use_.store(&uses_[used_++], std::memory_order_relaxed);
}

void RankLock::enable(const Choice& choice) {
  choice_ = choice;
  enabled_ = true;
  LockKind kind = choice.kind;
  if (kind == LockKind::automatic) {
    const LockKind near = choice.settings.domains > 1 ? LockKind::hclhub : LockKind::clhub;
    kind = choice.cpus < 2 ? LockKind::park : near;
  }
  change_to(kind);
}

/// By the holder.
void RankLock::change_to(LockKind kind) {
  Use& old = *use_.load(std::memory_order_relaxed);
  Use& next = uses_[used_++];
  const bool stay = choice_.kind != LockKind::automatic || kind == LockKind::park;
  next = {make_lock(kind, choice_.settings), kind, stay ? 0 : choice_.cpus, choice_.time_waits};
  next.lock->acquire();
  use_.store(&next, std::memory_order_release);  // pairs with acquire()
  old.lock->release();
}

void RankLock::take(Priority priority) {
  // relaxed: only the thread itself stores its name, so it finds it only while it holds the lock
  if (owner_.load(std::memory_order_relaxed) == pthread_self()) {
    ++depth_;
  } else {
    take_all(priority, 1);
  }
}

void RankLock::take_all(Priority priority, int depth) {
  const bool timed = use_.load(std::memory_order_acquire)->timed;
  const std::int64_t asked = timed ? now_ns() : 0;
  acquire(priority);
  owner_.store(pthread_self(), std::memory_order_relaxed);
  depth_ = depth;
  if (choice_.counters != nullptr) count_taken(asked);
}

void RankLock::count_taken(std::int64_t asked_ns) {
  Counters& c = *choice_.counters;
  const pthread_t me = owner_.load(std::memory_order_relaxed);
  ++c.lock_taken;
  if (last_ != me) ++c.lock_passed;
  last_ = me;
  if (asked_ns == 0) return;
  const auto waited = static_cast<std::uint64_t>(now_ns() - asked_ns);
  c.lock_longest_wait_ns = std::max(c.lock_longest_wait_ns, waited);
}

void RankLock::acquire(Priority priority) {
  // acquire: the lock is made; pairs with change_to()
  Use* use = use_.load(std::memory_order_acquire);
  for (;;) {
    const bool crowded = acquire_from(*use, priority);
    Use* now = use_.load(std::memory_order_acquire);  // only a holder changes it
    if (now == use) [[likely]] {
      if (crowded) change_to(LockKind::park);
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
  if (use.leave_at == 0) {
    lock.acquire();
    return false;
  }
  if (lock.try_acquire()) return false;
  // relaxed: a count that decides nothing but how fast this goes
  const int here = contenders_.fetch_add(1, std::memory_order_relaxed) + 1;
  lock.acquire();
  contenders_.fetch_sub(1, std::memory_order_relaxed);
  // They and the thread that had the lock need a CPU each.
  return here >= use.leave_at;
}

int RankLock::let_go_of_all() {
  const int depth = depth_;
  depth_ = 0;
  pass_on();
  return depth;
}

void RankLock::pass_on() {
  owner_.store({}, std::memory_order_relaxed);
  use_.load(std::memory_order_relaxed)->lock->release();
}

}  // namespace weft::sync
