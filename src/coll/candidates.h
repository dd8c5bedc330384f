// SPDX-License-Identifier: Apache-2.0
//
// Every way a blocking collective could go, what each would cost, and which one weft takes: for
// `weft explain`, and once for each size class of a communicator (advice.h). Algorithms that weft
// does not have are priced too, to see what they would bring.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "coll/signature.h"
#include "model/machine.h"
#include "model/prediction.h"

namespace weft::coll {

/// What a choice depends on beside the machine.
struct Setting {
  Call call = Call::barrier;
  std::int64_t bytes = 0;  // as in algorithms/algorithms.h
  bool threads = false;    // ranks of one process
  bool crowded = false;    // more ranks than CPUs
  bool commutative = true;
  std::int64_t shared_max = 4096;  // coll.shared_max
  std::string_view asked = {};     // coll.bcast, ...: a way by name
};

struct Candidate {
  const char* name;
  model::Prediction cost;
};

/// The collectives that can be explained, and one of them by its call_name(); false: no such name.
std::span<const Call> explained_calls();
bool find_call(std::string_view name, Call* out);

/// All ways in which this call could go here; at least one.
std::vector<Candidate> candidates(const model::Machine& x, const Setting& s);

/// The name of the candidate that weft takes.
const char* chosen(const model::Machine& x, const Setting& s);

/// Messages between the farthest ranks, whoever is near in truth: 2 lines (header, answer of the
/// ring), and per line a copy in and a copy out, which overlap. `exchange`: every rank sends as
/// much as it receives, all at once.
model::Prediction messages_cost(const model::Machine& x, const Cost& cost, bool exchange);

}  // namespace weft::coll
