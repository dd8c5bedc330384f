// SPDX-License-Identifier: Apache-2.0
//
// Every way a blocking collective could go, what each would cost, and which one weft takes: for
// `weft explain`.
#pragma once

#include <string_view>
#include <vector>

#include "coll/ways.h"
#include "model/machine.h"
#include "model/prediction.h"

namespace weft::coll {

/// What a choice depends on beside the machine.
struct Setting {
  Call call = Call::barrier;
  std::int64_t bytes = 0;  // as in messages/algorithms.h
  bool threads = false;    // ranks of one process
  bool commutative = true;
  std::int64_t shared_max = 0;  // coll.shared_max
  double explore = 0;           // coll.explore, as a share
  std::string_view asked = {};  // coll.bcast, ...: a way by name
};

struct Candidate {
  const Way* way;
  model::Prediction cost;
  const char* name() const { return way->name; }
};

/// One of the collectives that can be explained by its call_name(); false: no such name.
bool find_call(std::string_view name, Call* out);

/// All ways in which this call could go here; at least one.
std::vector<Candidate> candidates(const model::Machine& x, const Setting& s);

/// Those that take turns in runs until times decide; the first is chosen().
std::vector<const Way*> tried(const model::Machine& x, const Setting& s);

/// The one that weft takes.
const Way& chosen(const model::Machine& x, const Setting& s);

}  // namespace weft::coll
