// SPDX-License-Identifier: Apache-2.0
#include "coll/ledger.h"

#include <unistd.h>

#include <algorithm>

#include "coll/limits.h"

namespace weft::coll {
namespace {

/// 0: whoever was to write it has died.
std::uint64_t awaited(const std::atomic<std::uint64_t>& value) {
  for (useconds_t waited = 0;;) {
    const std::uint64_t known = value.load(std::memory_order_relaxed);
    if (known != 0 || waited >= ledger_patience_us) return known;
    const useconds_t us = std::max(first_look_us, waited / 4);
    usleep(us);
    waited += us;
  }
}

}  // namespace

std::uint64_t Ledger::look(std::uint64_t name, Entry** entry) const {
  constexpr std::size_t most_probes = 16;
  const std::size_t probes = std::min(most_probes, entries_.size());
  for (std::size_t i = 0; i < probes; ++i) {
    Entry& here = entries_[(name + i) % entries_.size()];
    std::uint64_t held = here.name.load(std::memory_order_relaxed);
    const bool is_claimed =
        held == 0 && here.name.compare_exchange_strong(held, name, std::memory_order_relaxed);
    if (!is_claimed && held != name) continue;
    *entry = &here;
    return is_claimed ? 0 : awaited(here.value);
  }
  return 0;
}

}  // namespace weft::coll
