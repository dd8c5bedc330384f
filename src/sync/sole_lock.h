// SPDX-License-Identifier: Apache-2.0
//
// One lock in place of all those of a rank's contexts, as long as all calls come from one thread:
// its owner, the one that called MPI_Init_thread. To that thread it costs two stores and a few
// loads of one line and no atomic read-modify-write, which would wait for all earlier stores, the
// lines of the message just sent among them. Any other thread first ends that, for good: from then
// on each context's own lock decides, and this one costs nobody a store.
//
// Dekker's protocol, one side of it without a fence. Owner: depth = 1; if (!revoked) go on. Other:
// revoked = true; membarrier; wait until depth == 0; shared = true. The membarrier runs a fence on
// every thread: so either the owner's load sees `revoked`, or its store of `depth` is seen after
// the membarrier.
//
// A guest, a thread of weft's own, may come in while the owner is outside, and ends nothing: it
// visits. It says so in the same way, and goes again if the owner is inside. The owner that finds a
// visitor waits until that one has gone, which it does soon: it looks whether anybody wants to come
// in. tests/model/sole_lock.pml checks it all.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/counters.h"
#include "sync/locks.h"

namespace weft::sync {

class SoleLock {
 public:
  /// A second thread has come: runs once, in that thread, while nobody holds anything.
  struct AtEnd {
    void (*run)(void* state);
    void* state;
  };
  /// Until this is called, threads share from the start. From here on who joins ends it; and from
  /// open() on the calling thread may enter. In between no lock is held for long.
  void announce(const AtEnd& at_end) {
    at_end_ = at_end;
    shared_.store(false, std::memory_order_release);  // pairs with join()
  }
  void open(std::uint64_t& taken) {
    taken_ = &taken;
    owner_.store(this_thread(), std::memory_order_relaxed);
  }

  /// The owner's way in, so many levels deep. False: the calling thread is not the owner, or not
  /// any more; it has to join(), and to take the context's lock.
  bool enter(int levels = 1) {
    // relaxed: only the thread itself stores its name; and so for `depth`
    if (owner_.load(std::memory_order_relaxed) != this_thread()) return false;
    const int depth = depth_.load(std::memory_order_relaxed);
    // In this order for the compiler; the other side's membarrier is the processor's fence.
    depth_.store(depth + levels, std::memory_order_relaxed);
    if (depth > 0) [[unlikely]]
      return true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // acquire: what the last visitor did; pairs with leave_visit()
    if (closed_.load(std::memory_order_acquire) != Closed::no && !wait_for_visitor()) [[unlikely]]
      return false;
    count_one(*taken_);  // a visitor reads it, to see whether the owner comes and goes
    return true;
  }
  /// One level out. False: the calling thread is not the owner any more. (As long as it is, it
  /// holds no other lock of a context.)
  bool leave() {
    if (owner_.load(std::memory_order_relaxed) != this_thread()) return false;
    depth_.store(depth_.load(std::memory_order_relaxed) - 1,
                 std::memory_order_release);  // pairs with end() and visit()
    return true;
  }
  /// Has each context its own lock? False, asked by a thread that is inside: until it leaves, it
  /// has all of them.
  bool is_shared() const { return shared_.load(std::memory_order_acquire); }  // pairs with end()
  bool is_mine() const {
    return owner_.load(std::memory_order_relaxed) == this_thread() &&
           depth_.load(std::memory_order_relaxed) > 0;
  }
  /// All levels out, and how many these were; for its holder.
  int let_go() {
    const int levels = depth_.load(std::memory_order_relaxed);
    depth_.store(0, std::memory_order_release);  // pairs with end() and visit()
    return levels;
  }

  enum class Visit { inside, busy, over };
  /// By a guest: come in, if the owner is outside. `busy`: somebody is inside; `over`: each context
  /// has its own lock.
  Visit visit();
  void leave_visit();
  /// Does anybody wait for the visitor to leave? relaxed: asked again and again
  bool is_wanted() const { return wanting_.load(std::memory_order_relaxed) > 0; }
  /// How often the owner has come in. By any thread.
  std::uint64_t taken() const { return counted(*taken_); }
  /// Is it inside? By any thread; a guess.
  bool is_taken() const { return depth_.load(std::memory_order_relaxed) > 0; }

  /// By every thread that does not enter, before it takes a context's lock.
  void join() {
    // acquire: sees what the owner did; pairs with end() and announce()
    if (!shared_.load(std::memory_order_acquire)) [[unlikely]]
      end();
  }

 private:
  enum class Closed : std::uint8_t { no, by_visitor, for_good };
  void end();
  /// The owner has said that it is inside, and found it closed. False: for good, and it is outside.
  [[gnu::cold]] bool wait_for_visitor();

  alignas(64) std::atomic<ThreadName> owner_{};  // null before, and after its end
  std::uint64_t* taken_ = nullptr;
  std::atomic<int> depth_{0};
  std::atomic<Closed> closed_{Closed::no};
  std::atomic<bool> shared_{true};
  std::atomic<int> wanting_{0};
  alignas(64) std::mutex ending_;  // held by who ends it, or visits
  AtEnd at_end_{};
};

}  // namespace weft::sync
