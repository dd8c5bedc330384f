// SPDX-License-Identifier: Apache-2.0
#include "sync/spare.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace weft::sync {

Spare::Sleeper::Sleeper(Spare* spare, std::atomic<std::uint32_t>& word, Scope scope)
    : spare_(spare) {
  if (spare == nullptr) return;
  const auto name = reinterpret_cast<std::uintptr_t>(&word) | static_cast<std::uintptr_t>(scope);
  // By address, so that sleepers seldom meet.
  const std::size_t first = name * 0x9E3779B97F4A7C15ULL >> 58;
  for (std::size_t i = 0; i < most_tries && place_ == nullptr; ++i) {
    std::atomic<std::uintptr_t>& place = spare->place_[(first + i) % places];
    std::uintptr_t nobody = 0;
    if (place.compare_exchange_strong(nobody, name)) place_ = &place;
  }
}

Spare::Sleeper::~Sleeper() {
  // relaxed: who still reads it wakes nobody, or somebody who looks again
  if (place_ != nullptr) place_->store(0, std::memory_order_relaxed);
}

bool Spare::Sleeper::is_wanted() const {
  return place_ != nullptr && spare_->offered_.load() != 0 && spare_->ways_.has_room(*spare_);
}

int Spare::wake(int most) {
  int woken = 0;
  for (std::atomic<std::uintptr_t>& place : place_) {
    if (woken == most) break;
    const std::uintptr_t name = place.load();
    if (name == 0) continue;
    // The sleeper may have left, and the word be gone: waking an address at which nobody sleeps is
    // harmless, and all who sleep on a futex look again when they wake.
    const auto process = static_cast<std::uintptr_t>(Sleeper::Scope::process);
    const int operation = (name & process) != 0 ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE;
    if (syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(name & ~process), operation, INT_MAX,
                nullptr, nullptr, 0) > 0)
      ++woken;
  }
  return woken;
}

}  // namespace weft::sync
