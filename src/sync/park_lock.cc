// SPDX-License-Identifier: Apache-2.0
#include "sync/park_lock.h"

namespace weft::sync {
namespace {

// Looks for a waiter that is awake, from the head of the queue on.
constexpr int looks_for_awake = 8;

}  // namespace

void ParkLock::acquire_with(Queue& queue) {
  if (try_acquire()) return;
  Thread me;
  guard_.acquire(settings_);
  // acquire: if it was vacant it is ours; pairs with release()
  if (word_.exchange(wanted, std::memory_order_acquire) == vacant) {
    // Nobody is in a queue while the lock is vacant.
    word_.store(held, std::memory_order_relaxed);
    guard_.release();
    return;
  }
  queue.threads.push_back(&me);
  joined_.store(joined_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  guard_.release();
  for (Spin spin(settings_); !me.turn.is_given();) {
    if (spin.impatient()) {
      settings_.count_system_call();
      me.turn.sleep();
    } else {
      spin.look();
    }
  }
}

ParkLock::Thread* ParkLock::take_from(Queue& queue) {
  Thread* first = queue.threads.front();
  if (first == nullptr) return nullptr;
  Thread* chosen = first;
  if (settings_.bias == 0 || queue.passed < settings_.bias) {
    int looks = 0;
    for (Thread* t = first; t != nullptr && looks < looks_for_awake;
         t = queue.threads.next(t), ++looks)
      if (t->turn.is_awake()) {
        chosen = t;
        break;
      }
  }
  queue.passed = chosen == first ? 0 : queue.passed + 1;
  queue.threads.remove(chosen);
  return chosen;
}

/// The thread that has the lock next. Under guard_, which somebody waits for.
ParkLock::Thread* ParkLock::take_next() {
  const bool low_first =
      settings_.bias != 0 && low_.passed >= settings_.bias && !low_.threads.empty();
  Thread* next = low_first ? take_from(low_) : take_from(high_);
  if (next == nullptr) return take_from(low_);
  if (!low_first && !low_.threads.empty()) ++low_.passed;
  return next;
}

void ParkLock::release() {
  std::uint32_t expected = held;
  // release: pairs with try_acquire() and acquire_with()
  if (word_.compare_exchange_strong(expected, vacant, std::memory_order_release,
                                    std::memory_order_relaxed))
    return;
  guard_.acquire(settings_);
  Thread* next = take_next();
  if (high_.threads.empty() && low_.threads.empty()) word_.store(held, std::memory_order_relaxed);
  guard_.release();
  if (next->turn.give()) settings_.count_system_call();
}

}  // namespace weft::sync
