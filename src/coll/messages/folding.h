// SPDX-License-Identifier: Apache-2.0
//
// Folding p ranks to the largest power of two: of the first 2 * extra ranks, each even one hands
// its data to its odd neighbour and waits for the result. Active ranks are numbered 0 .. power - 1
// in the order of their ranks, and each stands for a run of ranks, so the order of operands is
// kept.
//
// source   Rabenseifner, Träff: More efficient reduction algorithms for non-power-of-two number of
//          processors in message-passing parallel systems, EuroPVM/MPI 2004, section 2
// example  p = 5: power 4, extra 1: 0 folds into 1; active: 1 -> 0, 2 -> 1, 3 -> 2, 4 -> 3.
#pragma once

#include "coll/schedule.h"

namespace weft::coll {

struct Folding {
  int power;
  int extra;
  explicit Folding(int p) : power(1 << log2_floor(p)), extra(p - power) {}

  /// `rank` hands its data to rank + 1 and gets the result from there.
  bool is_passive(int rank) const { return rank < 2 * extra && rank % 2 == 0; }
  /// `rank` takes the data of rank - 1.
  bool is_host(int rank) const { return rank < 2 * extra && rank % 2 == 1; }
  int active_of(int rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
  int rank_of(int active) const { return active < extra ? 2 * active + 1 : active + extra; }
};

}  // namespace weft::coll
