// SPDX-License-Identifier: Apache-2.0
//
// What a way costs: for the choice between ranks of several levels, and for `weft explain`.
#pragma once

#include "coll/ways.h"
#include "model/machine.h"
#include "model/prediction.h"

namespace weft::coll {

/// `bytes`: as the costs count them. `direct`: ranks read each other's buffers.
model::Prediction price(const Way& way, Call call, const model::Machine& x, std::int64_t bytes,
                        bool direct);

/// Messages between the farthest ranks, whoever is near in truth: 2 lines (header, answer of the
/// ring), and per line a copy in and a copy out, which overlap. `exchange`: every rank sends as
/// much as it receives, all at once.
model::Prediction messages_cost(const model::Machine& x, const Cost& cost, bool exchange);

}  // namespace weft::coll
