// SPDX-License-Identifier: Apache-2.0
//
// Who can never go on. A rank that computes can do anything, and so can whoever waits for it, and
// so on; what is left over waits for nobody but each other, or for ranks that have left: it hangs.
//
// All waits of the view that are older than the limit began before any of them was read, so they
// were all there at one moment; between ranks that all wait only messages under way could change
// that, which is why Watch (watch.h) has everybody look once more.
#pragma once

#include <algorithm>
#include <vector>

#include "hang/view.h"

namespace weft::hang {

struct Analysis {
  std::vector<std::vector<bool>> stuck;  // of each rank, of each of its threads

  bool is_stuck(std::int32_t rank, std::size_t thread) const {
    return stuck[static_cast<std::size_t>(rank)][thread];
  }
  bool has_stuck_threads(std::size_t rank) const {
    return std::find(stuck[rank].begin(), stuck[rank].end(), true) != stuck[rank].end();
  }
  /// Nothing comes from this rank any more: it has left, or hangs whole.
  std::vector<bool> dead;
  bool is_dead(std::int32_t rank) const { return dead[static_cast<std::size_t>(rank)]; }
  bool hangs() const;
};

Analysis analyse(const JobView& view, std::int64_t limit_ns);

/// May what is needed still come, if the dead ranks do nothing?
bool may_come(const Need& need, const Analysis& analysis);

}  // namespace weft::hang
