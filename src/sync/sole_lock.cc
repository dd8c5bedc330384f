// SPDX-License-Identifier: Apache-2.0
#include "sync/sole_lock.h"

namespace weft::sync {

/// Each newcomer runs the membarrier: that of another may not be over yet.
void SoleLock::revoke() {
  revoked_.store(true, std::memory_order_seq_cst);
  fence_everywhere();
}

void SoleLock::share_and_acquire() {
  revoke();
  flag_.acquire(settings_);
  for (Spin spin(settings_); !is_empty();) spin.look();
  by_flag_ = true;
}

bool SoleLock::share_and_try() {
  revoke();
  if (!flag_.try_acquire()) return false;
  if (is_empty()) return by_flag_ = true;
  flag_.release();
  return false;
}

}  // namespace weft::sync
