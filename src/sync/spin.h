// SPDX-License-Identifier: Apache-2.0
//
// Waiting for another thread that soon changes a word: pause between looks, and after `patience`
// looks give the core away, because the other thread may need this very core.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/locks.h"
#include "sync/wait.h"

namespace weft::sync {

class Spin {
 public:
  explicit Spin(const LockSettings& settings) : settings_(settings), left_(settings.patience) {}
  /// Between two looks.
  void look() {
    if (left_ > 0) {
      --left_;
      pause();
    } else {
      settings_.count_system_call();
      yield();
    }
  }
  bool impatient() const { return left_ == 0; }

 private:
  const LockSettings& settings_;
  std::uint32_t left_;
};

/// A flag that one thread holds: test, then test-and-set.
class SpinFlag {
 public:
  /// acquire: sees what the last holder did; pairs with release()
  bool try_acquire() {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void acquire(const LockSettings& settings) {
    for (Spin spin(settings); !try_acquire();) spin.look();
  }
  void release() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace weft::sync
