// SPDX-License-Identifier: Apache-2.0
//
// CLHub, "locality-preserving locking with unbounded bias" (the paper, §IV.B, figure 12), and
// HCLHub, whose queue of active threads is a cohort lock. A thread that comes back at once finds
// the critical section's data in its cache; so it may pass those who wait, by taking the bias flag
// before them. Who does not get the flag queues up; the first of the queue is the candidate. Low
// priority takes the flag only while there is no candidate (`filter_`).
//
// Beyond the figure: with a bound (parameter sync.bias) a candidate is passed that often at most,
// and a thread of low priority that was passed that often queues up as if it were active. And
// `filter_` stays up from one candidate to the next, so that no low priority slips in between.
#pragma once

#include <memory>

#include "sync/clh.h"
#include "sync/locks.h"

namespace weft::sync {

/// C-BO-CLH: Dice, Marathe, Shavit: Lock Cohorting (PPoPP 2012), C-BO-MCS with CLH queues and
/// without back-off, as the paper has it. A queue per memory domain; the first of a domain's queue
/// takes the flag that all domains share, and the domain keeps it while it has waiters.
class Cohort {
 public:
  explicit Cohort(const LockSettings& settings);
  void acquire();
  void release();
  /// For the holder.
  bool has_waiters() const;
  std::uint64_t joined() const;

 private:
  struct Domain {
    explicit Domain(const LockSettings& settings) : queue(settings) {}
    Clh queue;
    // Of the holder of `queue`.
    bool keeps_flag = false;
    std::uint32_t kept = 0;  // times in a row
  };
  const LockSettings settings_;
  std::unique_ptr<Domain> domains_[most_domains];
  alignas(64) SpinFlag flag_;
  Domain* holder_ = nullptr;  // the holder's
};

/// `Queue` (Clh or Cohort) orders the active threads.
template <class Queue>
class BiasedLock final : public Lock {
 public:
  explicit BiasedLock(const LockSettings& settings);
  void acquire() override;
  void acquire_low() override;
  bool try_acquire() override;
  void release() override { bias_.release(); }
  std::uint64_t joined() const override { return high_.joined() + low_.joined(); }
  bool has_candidate() const { return filter_.load(std::memory_order_relaxed); }

 private:
  bool may_pass();
  void acquire_as_candidate();
  void taken();

  const LockSettings settings_;
  alignas(64) SpinFlag bias_;
  // The holder's; `taken_` is read by the first of low priority.
  std::uint32_t passed_ = 0;                     // active threads that passed the candidate
  std::atomic<std::uint32_t> taken_{0};          // acquisitions by active threads
  alignas(64) std::atomic<bool> filter_{false};  // there is a candidate
  Queue high_;
  Clh low_;
};

extern template class BiasedLock<Clh>;
extern template class BiasedLock<Cohort>;

}  // namespace weft::sync
