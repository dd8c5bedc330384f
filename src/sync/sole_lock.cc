// SPDX-License-Identifier: Apache-2.0
#include "sync/sole_lock.h"

#include "sync/spin.h"

namespace weft::sync {

void SoleLock::end() {
  const std::lock_guard<std::mutex> one_at_a_time(ending_);
  // relaxed: written under this mutex
  if (shared_.load(std::memory_order_relaxed)) return;
  revoked_.store(true, std::memory_order_seq_cst);
  fence_everywhere();
  const LockSettings settings;
  // acquire: pairs with leave()
  for (Spin spin(settings); depth_.load(std::memory_order_acquire) > 0;) spin.look();
  at_end_.run(at_end_.state);
  shared_.store(true, std::memory_order_release);  // pairs with join()
}

}  // namespace weft::sync
