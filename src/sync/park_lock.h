// SPDX-License-Identifier: Apache-2.0
//
// The queue lock for more threads than CPUs. A waiting thread looks for a while, then sleeps in the
// kernel; the holder hands the lock to the first thread in the queue that is awake, so that the
// lock seldom waits for a thread that has to be woken and scheduled first. Active threads come
// before those of low priority. A thread at the head of its queue is passed `bias` times at most.
// tests/model/park_lock.pml checks that nobody is forgotten.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/list.h"
#include "sync/locks.h"
#include "sync/signal.h"
#include "sync/spin.h"

namespace weft::sync {

class ParkLock final : public Lock {
 public:
  explicit ParkLock(const LockSettings& settings) : settings_(settings) {}
  void acquire() override { acquire_with(high_); }
  void acquire_low() override { acquire_with(low_); }
  bool try_acquire() override {
    std::uint32_t expected = vacant;
    // acquire: pairs with release()
    return word_.compare_exchange_strong(expected, held, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void release() override;
  std::uint64_t joined() const override { return joined_.load(std::memory_order_relaxed); }

 private:
  enum Word : std::uint32_t { vacant, held, wanted };  // wanted: held, and somebody is in a queue
  struct Thread {                                      // on the waiting thread's stack
    Link<Thread> link;
    Signal turn;
  };
  struct Queue {  // guarded by guard_
    List<Thread, &Thread::link> threads;
    std::uint32_t passed = 0;  // how often the first was passed
  };
  void acquire_with(Queue& queue);
  Thread* take_next();
  Thread* take_from(Queue& queue);

  const LockSettings settings_;
  alignas(64) std::atomic<std::uint32_t> word_{vacant};
  SpinFlag guard_;  // held for a few instructions
  Queue high_, low_;
  std::atomic<std::uint64_t> joined_{0};
};

}  // namespace weft::sync
