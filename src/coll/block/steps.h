// SPDX-License-Identifier: Apache-2.0
//
// What the ways through the shared block do, as schedules. Nobody runs these: the ways are written
// out by hand (operations.cc, direct.cc, strips.cc), because an executor takes 1.2 to 1.7 times as
// long (docs/decisions/0007). They are walked, so that all ways have one price (walk.h).
#pragma once

#include "coll/boards/node.h"
#include "coll/ways.h"

namespace weft::coll {

/// This rank's part in the first `bytes` of a call of `of` bytes with root 0, counted as in
/// messages/algorithms.h.
void emit_shared(Schedule& s, Call call, Place place, std::int64_t bytes, std::int64_t of,
                 bool crowded, const Site& node);

/// Do all ranks the same there?
bool is_alike(Call call, Place place, int ranks, bool crowded);

/// Lines of the users' buffers that the busiest rank reads and writes.
double footprint(Call call, int ranks, std::int64_t bytes);

}  // namespace weft::coll
