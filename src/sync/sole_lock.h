// SPDX-License-Identifier: Apache-2.0
//
// The lock of a rank whose calls all come from one thread, as yet: the thread that made it. For
// that thread it costs two stores and two loads and no atomic read-modify-write, which would wait
// for all earlier stores, the lines of the message just sent among them. Any other thread first
// revokes that right, for good: from then on a flag decides, and RankLock takes another lock.
//
// Dekker's protocol, one side of it without a fence. Owner: inside = true; if (!revoked) go on.
// Other: revoked = true; membarrier; wait until !inside. The membarrier runs a fence on every
// thread: so either the owner's load sees `revoked`, or its store of `inside` is seen after the
// membarrier. tests/model/sole_lock.pml checks it.
#pragma once

#include <atomic>

#include "sync/locks.h"
#include "sync/spin.h"

namespace weft::sync {

class SoleLock final : public Lock {
 public:
  explicit SoleLock(const LockSettings& settings) : settings_(settings) {}
  void acquire() override {
    if (!enter()) share_and_acquire();
  }
  bool try_acquire() override { return enter() || share_and_try(); }
  void release() override {
    if (by_flag_) {
      by_flag_ = false;
      flag_.release();
    } else {
      leave();
    }
  }
  /// For the holder: has another thread than the owner come?
  bool is_shared() const { return by_flag_; }

  /// The owner's way in, while it is the only thread; and out.
  bool enter() {
    if (owner_ != this_thread()) return false;
    // relaxed, in this order for the compiler; the other side's membarrier is the processor's
    // fence. Nothing to acquire: who else was inside has revoked before.
    inside_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!revoked_.load(std::memory_order_relaxed)) [[likely]]
      return true;
    leave();
    return false;
  }
  void leave() { inside_.store(false, std::memory_order_release); }  // pairs with is_empty()

 private:
  bool is_empty() const { return !inside_.load(std::memory_order_acquire); }
  void revoke();
  void share_and_acquire();
  bool share_and_try();

  const LockSettings settings_;
  const ThreadName owner_ = this_thread();
  std::atomic<bool> inside_{false};
  bool by_flag_ = false;  // the holder's: how he came in
  alignas(64) std::atomic<bool> revoked_{false};
  SpinFlag flag_;
};

}  // namespace weft::sync
