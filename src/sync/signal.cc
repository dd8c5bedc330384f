// SPDX-License-Identifier: Apache-2.0
#include "sync/signal.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sync/limits.h"

namespace weft::sync {

namespace {

/// As futex(FUTEX_WAIT) returns.
long sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t says, int operation,
              std::int64_t limit_ns) {
  const timespec limit = timespec_of(limit_ns);
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, says,
                 limit_ns > 0 ? &limit : nullptr, nullptr, 0);
}

#if defined(SYS_futex_waitv) && defined(FUTEX_WAITV_MAX)
/// The same of several; ENOSYS or EINVAL: that cannot be done here.
long sleep_on_any(std::atomic<std::uint32_t>& own, std::uint32_t says, Signal::Others others,
                  std::int64_t limit_ns) {
  if (others.size() >= FUTEX_WAITV_MAX) return errno = EINVAL, -1;
  futex_waitv words[FUTEX_WAITV_MAX];
  words[0] = {says, reinterpret_cast<std::uintptr_t>(&own), FUTEX_32 | FUTEX_PRIVATE_FLAG, 0};
  for (std::size_t i = 0; i < others.size(); ++i)
    words[i + 1] = {1, reinterpret_cast<std::uintptr_t>(others[i]), FUTEX_32, 0};
  const timespec until = timespec_of(now_ns() + limit_ns);
  return syscall(SYS_futex_waitv, words, others.size() + 1, 0, limit_ns > 0 ? &until : nullptr,
                 CLOCK_MONOTONIC);
}
#else
long sleep_on_any(std::atomic<std::uint32_t>&, std::uint32_t, Signal::Others, std::int64_t) {
  return errno = ENOSYS, -1;
}
#endif

}  // namespace

Signal::Woken Signal::sleep(std::int64_t limit_ns, Spare* spare, Others others) {
  std::uint32_t expected = awake;
  // relaxed: is_given() acquires
  word_.compare_exchange_strong(expected, asleep, std::memory_order_relaxed);
  if (expected == given) return Woken::by_somebody;
  const Spare::Sleeper sleeper(spare, word_, Spare::Sleeper::Scope::process);
  if (sleeper.is_wanted()) return Woken::by_somebody;
  long result = others.empty() ? 0 : sleep_on_any(word_, asleep, others, limit_ns);
  if (others.empty() || (result < 0 && (errno == ENOSYS || errno == EINVAL))) {
    // Who gives it also changes the only other word, and wakes who sleeps there.
    if (others.size() == 1) {
      result = sleep_on(*others[0], 1, FUTEX_WAIT, limit_ns);
    } else {
      const std::int64_t blind_ns = others.empty() ? 0 : blind_sleep_us * ns_per_us;
      if (limit_ns == 0 || (blind_ns > 0 && blind_ns < limit_ns)) limit_ns = blind_ns;
      result = sleep_on(word_, asleep, FUTEX_WAIT_PRIVATE, limit_ns);
    }
  }
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
