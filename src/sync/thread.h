// SPDX-License-Identifier: Apache-2.0
//
// A thread of weft's own: it works for a rank or a process, where it is told to sit, and sleeps
// while there is nothing to do. It takes none of the program's signals. With ranks as threads it
// belongs to the rank whose thread starts it (its descriptors, its directory), so that rank ends
// it.
//
// No lost wake-up. The thread: attend(); look for work; none: sleep(). Others: publish the work;
// wake(). Either attend() takes the signal, and the look after it finds the work, or the signal is
// still given when sleep() swaps, which then returns at once (sync/signal.h).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "base/err.h"
#include "sync/signal.h"

namespace weft::sync {

class Thread {
 public:
  struct Task {
    const char* name;           // as debuggers and ps show it; 15 letters at most
    std::span<const int> cpus;  // that it may use; empty, or none that there is: its starter's
    void (*run)(Thread& me, void* state);
    void* state = nullptr;
  };

  Thread() = default;
  /// It has ended, or was never started, or the process ends with it.
  ~Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  /// Start it, once until end(). Fails where the system gives no more threads.
  Err start(const Task& task);
  /// It is to end as soon as it can; it may have to be woken. By any thread.
  void ask_to_end() { to_end_.store(true, std::memory_order_release); }  // pairs with is_to_end()
  /// The same, wake it, and wait until run() has returned. Nothing if it does not run. By the
  /// thread that started it, or one that comes after.
  void end();
  bool is_running() const { return running_; }
  /// Does it sit on the CPUs that were asked for?
  bool is_placed() const { return placed_; }

  /// There is work. By any thread; a system call only if it sleeps. True if it did.
  bool wake() { return signal_.give(); }

  // By the thread itself:
  /// acquire: pairs with end()
  bool is_to_end() const { return to_end_.load(std::memory_order_acquire); }
  /// Look for work only after this.
  void attend() { signal_.take(); }
  /// Has somebody called wake() since?
  bool is_called() const { return signal_.is_given(); }
  /// Sleep until woken, or for `limit_ns` (0: without end), or until there is work to join; may
  /// return earlier.
  Signal::Woken sleep(std::int64_t limit_ns = 0, Spare* spare = nullptr,
                      Signal::Others others = {}) {
    return signal_.sleep(limit_ns, spare, others);
  }

 private:
  static void* main(void* thread);

  Task task_{};
  pthread_t thread_{};
  bool running_ = false, placed_ = false;
  std::atomic<bool> to_end_{false};
  Signal signal_;
};

}  // namespace weft::sync
