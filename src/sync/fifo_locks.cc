// SPDX-License-Identifier: Apache-2.0
#include "sync/fifo_locks.h"

namespace weft::sync {

void PClhLock::acquire() {
  high_.acquire();
  if (!gate_is_handed_on_) gate_.acquire();
  gate_is_handed_on_ = false;
  is_low_ = false;
}

void PClhLock::acquire_low() {
  low_.acquire();
  gate_.acquire();
  is_low_ = true;
}

bool PClhLock::try_acquire() {
  if (!high_.try_acquire()) return false;
  if (!gate_is_handed_on_ && !gate_.try_acquire()) {
    high_.release();
    return false;
  }
  gate_is_handed_on_ = false;
  is_low_ = false;
  return true;
}

void PClhLock::release() {
  if (is_low_) {
    gate_.release();
    low_.release();
    return;
  }
  gate_is_handed_on_ = high_.has_waiters();
  if (!gate_is_handed_on_) gate_.release();
  high_.release();
}

}  // namespace weft::sync
