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
  for (std::atomic<std::uintptr_t>& place : spare->place_) {
    std::uintptr_t nobody = 0;
    if (!place.compare_exchange_strong(nobody, name)) continue;
    place_ = &place;
    spare->asleep_.fetch_add(1);
    return;
  }
}

Spare::Sleeper::~Sleeper() {
  if (place_ == nullptr) return;
  spare_->asleep_.fetch_sub(1);
  place_->store(0);
}

bool Spare::Sleeper::is_wanted() const {
  return place_ != nullptr && spare_->offered_.load() != 0 && spare_->ways_.has_room(*spare_);
}

int Spare::wake(int most) {
  int woken = 0;
  if (asleep_.load() == 0) return 0;
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
