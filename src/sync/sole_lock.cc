// SPDX-License-Identifier: Apache-2.0
#include "sync/sole_lock.h"

#include "sync/spin.h"

namespace weft::sync {

void SoleLock::end() {
  wanting_.fetch_add(1, std::memory_order_relaxed);  // pairs with is_wanted()
  const std::lock_guard<std::mutex> one_at_a_time(ending_);
  wanting_.fetch_sub(1, std::memory_order_relaxed);
  // relaxed: written under this mutex
  if (shared_.load(std::memory_order_relaxed)) return;
  closed_.store(Closed::for_good, std::memory_order_seq_cst);
  fence_here();
  const LockSettings settings;
  // acquire: pairs with leave()
  for (Spin spin(settings); depth_.load(std::memory_order_acquire) > 0;) spin.look();
  at_end_.run(at_end_.state);
  shared_.store(true, std::memory_order_release);  // pairs with join()
}

bool SoleLock::wait_for_visitor() {
  const LockSettings settings;
  Spin spin(settings);
  wanting_.fetch_add(1, std::memory_order_relaxed);  // pairs with is_wanted()
  Closed closed;
  // acquire: what the visitor did; pairs with leave_visit()
  while ((closed = closed_.load(std::memory_order_acquire)) == Closed::by_visitor) spin.look();
  wanting_.fetch_sub(1, std::memory_order_relaxed);
  if (closed == Closed::no) return true;
  depth_.store(0, std::memory_order_release);        // pairs with end()
  owner_.store(nullptr, std::memory_order_relaxed);  // from now on a thread like any other
  return false;
}

SoleLock::Visit SoleLock::visit() {
  // acquire: pairs with end(). relaxed: a guess that saves the fence
  if (shared_.load(std::memory_order_acquire)) return Visit::over;
  if (depth_.load(std::memory_order_relaxed) > 0 || !ending_.try_lock()) return Visit::busy;
  if (shared_.load(std::memory_order_relaxed)) {  // written under this mutex
    ending_.unlock();
    return Visit::over;
  }
  closed_.store(Closed::by_visitor, std::memory_order_seq_cst);
  fence_here();
  // acquire: what the owner did; pairs with leave()
  if (depth_.load(std::memory_order_acquire) == 0) return Visit::inside;
  leave_visit();
  return Visit::busy;
}

void SoleLock::leave_visit() {
  closed_.store(Closed::no, std::memory_order_release);  // pairs with enter()
  ending_.unlock();
}

}  // namespace weft::sync
