// SPDX-License-Identifier: Apache-2.0
//
// What the operations of shared/ cost, in the terms of model/: which lines are read, by how many at
// once, what is copied and folded. The whole operation, when all ranks enter together, each on a
// core of its own.
//
// `bytes`: as in algorithms/algorithms.h (the whole vector for bcast, reduce, allreduce, scan and
// reduce_scatter, otherwise one rank's block). Calls that have no such way give nothing.
#pragma once

#include "coll/signature.h"
#include "model/machine.h"
#include "model/prediction.h"

namespace weft::coll {

/// Lines of the users' buffers that the busiest rank reads and writes.
double footprint(Call call, const model::Machine& x, std::int64_t bytes);

/// Through slots. `flat`: everybody looks at everybody, else a tree of counters.
model::Prediction slots_cost(Call call, const model::Machine& x, std::int64_t bytes, bool flat);
/// Between the users' own buffers.
model::Prediction direct_cost(Call call, const model::Machine& x, std::int64_t bytes, bool flat);
/// Through the block: in pieces what flows one way, in strips what everybody needs of everybody.
model::Prediction block_cost(Call call, const model::Machine& x, std::int64_t bytes, bool flat);

}  // namespace weft::coll
