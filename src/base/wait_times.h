// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

/// Of a rank, in memory that it shares with others on its CPUs: when it waits and gives its core
/// away. By its threads, which all are one here; guesses, so relaxed.
struct WaitTimes {
  std::atomic<std::int64_t> since_ns;  // 0: it does not wait
  std::atomic<std::int64_t> until_ns;  // the end of the last such wait; 0: there was none

  void begin(std::int64_t now_ns) { since_ns.store(now_ns, std::memory_order_relaxed); }
  void end(std::int64_t now_ns) {
    until_ns.store(now_ns, std::memory_order_relaxed);
    since_ns.store(0, std::memory_order_relaxed);
  }
  /// In this time: how long it did not wait at once, counted from the end of the last wait. 0 for
  /// one that has never waited: it may be on another node.
  std::int64_t busy_ns(std::int64_t from_ns, std::int64_t to_ns) const {
    const std::int64_t since = since_ns.load(std::memory_order_relaxed);
    const std::int64_t until = until_ns.load(std::memory_order_relaxed);
    if (until == 0 || (since != 0 && since <= from_ns)) return 0;
    return (since != 0 ? since : to_ns) - until;
  }
};

/// Those of ranks in a row, each so many bytes behind the one before.
struct WaitTimesOfAll {
  const WaitTimes* first = nullptr;
  std::size_t stride = 0;
  int count = 0;

  const WaitTimes& of(int i) const {
    const auto at = static_cast<std::size_t>(i) * stride;
    return *reinterpret_cast<const WaitTimes*>(reinterpret_cast<const std::byte*>(first) + at);
  }
};

}  // namespace weft
