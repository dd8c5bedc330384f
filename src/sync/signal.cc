// SPDX-License-Identifier: Apache-2.0
#include "sync/signal.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

namespace weft::sync {

Signal::Woken Signal::sleep(std::int64_t limit_ns, Spare* spare) {
  std::uint32_t expected = awake;
  // relaxed: is_given() acquires
  word_.compare_exchange_strong(expected, asleep, std::memory_order_relaxed);
  if (expected == given) return Woken::by_somebody;
  const Spare::Sleeper sleeper(spare, word_, Spare::Sleeper::Scope::process);
  if (sleeper.is_wanted()) return Woken::by_somebody;
  const timespec limit = timespec_of(limit_ns);
  const long result =
      syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, asleep,
              limit_ns > 0 ? &limit : nullptr, nullptr, 0);
  return result != 0 && errno == ETIMEDOUT ? Woken::by_time : Woken::by_somebody;
}

bool Signal::give() {
  // release: pairs with is_given(). From here on the word may be gone; waking an address at which
  // nobody sleeps is harmless.
  auto* address = reinterpret_cast<std::uint32_t*>(&word_);
  if (word_.exchange(given, std::memory_order_release) != asleep) return false;
  syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  return true;
}

}  // namespace weft::sync
