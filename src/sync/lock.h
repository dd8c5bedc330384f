// SPDX-License-Identifier: Apache-2.0
//
// The rank's lock. Entry points hold it: all of them when the program asked for
// MPI_THREAD_MULTIPLE, else those that threads may call at any time, before MPI_Init too (MPI-5.0
// §11.4.1). Whoever waits releases it (pt2pt::wait_for). Recursive, because a user's callback
// (operation, attribute, error handler, generalized request) runs inside an entry point and may
// call MPI.
#pragma once

#include <mutex>

namespace weft::sync {

class RankLock {
 public:
  /// Before other threads of the rank may call MPI (MPI_Init_thread).
  void enable() { enabled_ = true; }
  bool enabled() const { return enabled_; }
  void lock() {
    if (enabled_) mutex_.lock();
  }
  void unlock() {
    if (enabled_) mutex_.unlock();
  }
  /// Enabled or not.
  void hold() { mutex_.lock(); }
  void release() { mutex_.unlock(); }

 private:
  bool enabled_ = false;
  std::recursive_mutex mutex_;
};

}  // namespace weft::sync
