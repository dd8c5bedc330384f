// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pt2pt/engine.h"

namespace weft::coll {

// Looks at a flag before the rank looks after its messages too. A look is 1-2 ns while nothing
// changes, so this is a few line transfers between cores (60-140 ns each, 2 cores, 2026-11).
inline constexpr int tight_looks = 400;

/// Wait for flags in shared memory: until done(), which is cheap; who makes it true wakes this
/// rank. Or until is_lost(), which is asked before this rank sleeps: what is awaited cannot come.
/// `about` is for reports of jobs that hang.
template <class Done, class Lost>
void wait(pt2pt::Engine& e, Done&& done, const pt2pt::About& about, Lost&& is_lost) {
  e.lock.spent(&Counters::issue_ns);
  if (!e.policy.crowded)
    for (int i = 0; i < tight_looks; ++i)
      if (done()) return e.lock.spent(&Counters::sync_ns);
  pt2pt::wait_until(e, done, {.about = &about}, is_lost);
}

}  // namespace weft::coll
