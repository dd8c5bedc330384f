// SPDX-License-Identifier: Apache-2.0
//
// How many progress threads there are: the words of WEFT_PROGRESS.
#pragma once

#include <climits>

#include "base/params.h"

namespace weft::progress {

enum class Mode { off, rank, group, node, automatic };

inline Mode mode_of(const Params& params) {
  return static_cast<Mode>(params.integer(P::progress_threads));
}

/// Ranks that a thread has in its charge at most, if they are of one process, and of a job on one
/// node: a network's descriptors are the rank's own.
inline int most_ranks(const Params& params) {
  const Mode mode = mode_of(params);
  if (mode == Mode::node) return INT_MAX;
  return mode == Mode::group ? static_cast<int>(params.integer(P::progress_group)) : 1;
}

}  // namespace weft::progress
