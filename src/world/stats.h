// SPDX-License-Identifier: Apache-2.0
//
// The table of WEFT_STATS=1: what the ranks of a job counted, and what follows from it.
#pragma once

#include <span>
#include <string>

#include "base/counters.h"
#include "base/err.h"

namespace weft {
struct Rank;
}

namespace weft::world {

/// Of all ranks: their sum, and least, median and most of one.
std::string stats_table(std::span<const Counters> ranks);

/// By all ranks, at MPI_Finalize: world rank 0 prints the table to stderr. Its times are of the
/// calls before (`before`: the counters then): how long this one takes nobody knows yet.
Err print_stats(Rank& rank, const Counters& before);

}  // namespace weft::world
