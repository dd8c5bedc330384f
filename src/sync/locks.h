// SPDX-License-Identifier: Apache-2.0
//
// The locks that may guard a rank (docs/locking.md has a section on each). Threads that have work
// to do call acquire(); those that only look whether something happened call acquire_low(), which
// locks with two priorities serve last. Names and behaviour: Dang, Seo, Amer, Balaji: Advanced
// Thread Synchronization for Multithreaded MPI Implementations (CCGrid 2017), "the paper" below.
//
// No lock here is recursive (RankLock is); the thread that acquires releases. All of them end up
// giving the core away while they wait, so more threads than CPUs make them slow, not stuck.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "sync/limits.h"

namespace weft::sync {

/// The values of parameter sync.lock.
enum class LockKind : std::uint8_t { mtx, ticket, clh, pclh, clhub, hclhub, park, automatic };

struct LockSettings {
  /// Looks at a lock before a waiting thread gives its core away (or sleeps) instead.
  std::uint32_t patience = lock_patience;
  /// How often a waiting thread may be passed by others that came later; 0: without end. For the
  /// locks that let threads pass: clhub, hclhub, park.
  std::uint32_t bias = 0;
  /// Domains of memory, for hclhub, and in which one the calling thread runs.
  int domains = 1;
  int (*domain)() = nullptr;  // null: there is only one
  /// Where the system calls are counted that waiting and waking take; null: nowhere.
  std::atomic<std::uint64_t>* system_calls = nullptr;

  void count_system_call() const {
    // relaxed: a count
    if (system_calls != nullptr) system_calls->fetch_add(1, std::memory_order_relaxed);
  }
};

/// What tells the calling thread from others.
using ThreadName = void*;
inline ThreadName this_thread() {
  return __builtin_thread_pointer();
}

class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  virtual ~Lock() = default;
  virtual void acquire() = 0;
  virtual void acquire_low() { acquire(); }
  /// Never waits for another thread's critical section.
  virtual bool try_acquire() = 0;
  virtual void release() = 0;
  /// A number that changes when a thread has joined a queue: for tests of the order.
  virtual std::uint64_t joined() const { return 0; }
};

/// A lock of that kind; not automatic.
std::unique_ptr<Lock> make_lock(LockKind kind, const LockSettings& settings);

/// The memory domain (NUMA node) in which the calling thread runs now, below `most_domains`.
inline constexpr int most_domains = 16;
int current_domain();
/// How many domains the machine has, at most `most_domains`; 1 if that is not known.
int domain_count();

}  // namespace weft::sync
