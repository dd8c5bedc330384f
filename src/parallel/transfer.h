// SPDX-License-Identifier: Apache-2.0
//
// Is a message, or what there is room for of it, copied by idle threads at once? A pure function;
// who is idle and what copying takes, Jobs knows (jobs.h).
//
// Si, Pena, Balaji, Takagi, Ishikawa (MT-MPI, ICS'14), section 3.2.2, fill all cells that they have
// reserved before the receiver may read one, so that few threads lose more by a coarse pipeline
// than they win. Here whoever has filled a cell publishes it: the unit of the pipeline stays a
// piece, and one idle thread is enough.
#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel/limits.h"

namespace weft::parallel {

/// Parameter parallel.transfers.
enum class Rule : int { profile, paper, alone };

struct Transfer {
  std::int64_t bytes;       // left of the message
  std::int64_t room_bytes;  // free cells, or pieces that lie ready
  std::int64_t worth_ns;    // what the smaller of these takes one thread, about
  int idle;                 // threads besides the caller
};

/// Bytes that the caller and idle threads copy at once; 0: the caller does it, piece by piece.
constexpr std::int64_t at_once(Rule rule, const Transfer& t) {
  const bool together = rule == Rule::profile
                            ? t.idle > 0 && t.worth_ns >= least_worth_ns
                            : rule == Rule::paper && t.bytes >= paper_bytes &&
                                  t.room_bytes >= paper_room && t.idle + 1 >= paper_threads;
  return together ? std::min(t.bytes, t.room_bytes) : 0;
}

}  // namespace weft::parallel
