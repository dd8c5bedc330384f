// SPDX-License-Identifier: Apache-2.0
//
// A word on which one thread waits and that another one sets, once: by a look, or asleep in the
// kernel.
//
// No lost wake-up: the waiting thread goes from `awake` to `asleep` by compare-and-swap and sleeps
// only while the word says `asleep`; who gives the signal swaps in `given` and wakes if it finds
// `asleep`. tests/model/park_lock.pml checks it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "sync/spare.h"

namespace weft::sync {

class Signal {
 public:
  /// acquire: what was done before it was given; pairs with give()
  bool is_given() const { return word_.load(std::memory_order_acquire) == given; }
  /// relaxed: it may fall asleep the moment after
  bool is_awake() const { return word_.load(std::memory_order_relaxed) == awake; }
  enum class Woken { by_somebody, by_time };
  /// Words in shared memory that wake the thread too, unless they say 1. More than one of them, and
  /// a kernel that cannot sleep on several: it looks every blind_sleep_us (sync/limits.h).
  using Others = std::span<std::atomic<std::uint32_t>* const>;
  /// Sleep until it is given, or for `limit_ns` (0: without end); may return earlier, also because
  /// there is work to join.
  Woken sleep(std::int64_t limit_ns = 0, Spare* spare = nullptr, Others others = {});
  /// The waiting thread may destroy the signal as soon as it is given. True if it was asleep.
  bool give();
  /// By the waiting thread, to wait again.
  void reset() { word_.store(awake, std::memory_order_relaxed); }
  /// The same while others may give it at any time: what was done before any of these is seen.
  /// acquire: pairs with give(), of which it reads the last
  void take() { word_.exchange(awake, std::memory_order_acquire); }

 private:
  enum Word : std::uint32_t { awake, asleep, given };
  std::atomic<std::uint32_t> word_{awake};
};

}  // namespace weft::sync
