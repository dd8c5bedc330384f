// SPDX-License-Identifier: Apache-2.0
//
// The locks whose order is that of arrival (docs/locking.md): the mutex leaves it to the kernel,
// ticket and CLH keep it, P-CLH keeps it within each of two priorities.
#pragma once

#include <pthread.h>

#include "sync/clh.h"
#include "sync/locks.h"

namespace weft::sync {

class MutexLock final : public Lock {
 public:
  explicit MutexLock(const LockSettings& s) : settings_(s) {}
  ~MutexLock() override { pthread_mutex_destroy(&mutex_); }
  void acquire() override {
    if (try_acquire()) return;
    settings_.count_system_call();  // it may need more, or (seldom) none
    pthread_mutex_lock(&mutex_);
  }
  bool try_acquire() override { return pthread_mutex_trylock(&mutex_) == 0; }
  void release() override { pthread_mutex_unlock(&mutex_); }

 private:
  const LockSettings settings_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Mellor-Crummey and Scott, TOCS 9(1), 1991, section 2.2.
class TicketLock final : public Lock {
 public:
  explicit TicketLock(const LockSettings& s) : settings_(s) {}
  void acquire() override {
    // relaxed: the number is all that is taken; the critical section waits for `serving_`
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    // acquire: pairs with release()
    for (Spin spin(settings_); serving_.load(std::memory_order_acquire) != mine;) spin.look();
  }
  bool try_acquire() override {
    std::uint32_t mine = serving_.load(std::memory_order_acquire);
    return next_.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed);
  }
  void release() override {
    // Only the holder writes it. release: pairs with acquire() and try_acquire()
    serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  std::uint64_t joined() const override { return next_.load(std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<std::uint32_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> serving_{0};
  const LockSettings settings_;
};

class ClhLock final : public Lock {
 public:
  explicit ClhLock(const LockSettings& s) : queue_(s) {}
  void acquire() override { queue_.acquire(); }
  bool try_acquire() override { return queue_.try_acquire(); }
  void release() override { queue_.release(); }
  std::uint64_t joined() const override { return queue_.joined(); }

 private:
  Clh queue_;
};

/// A queue for each priority; the first of each meets the other's at the gate. Threads of high
/// priority hand the gate on with their queue, until nobody is in it.
class PClhLock final : public Lock {
 public:
  explicit PClhLock(const LockSettings& s) : high_(s), low_(s), gate_(s) {}
  void acquire() override;
  void acquire_low() override;
  bool try_acquire() override;
  void release() override;
  std::uint64_t joined() const override { return high_.joined() + low_.joined(); }

 private:
  Clh high_, low_, gate_;
  // The holder's.
  bool gate_is_handed_on_ = false;  // whoever holds high_ holds the gate too
  bool is_low_ = false;
};

}  // namespace weft::sync
