// SPDX-License-Identifier: Apache-2.0
//
// weft tune: measures what the model has to know of this machine, in well under a second: for each
// level one pair of CPUs passes a cache line to and fro and copies what the other has written; then
// all pairs of a part do it at once; then copies from memory, and how soon the next thread on a CPU
// runs. Disturbances only add time, so of many rounds a low quantile
// counts; all of it is done several times, and the medians are kept.
#pragma once

#include <string>

#include "model/machine.h"
#include "topo/topology.h"

namespace weft::tool {

/// Prices of this machine, levels from the inside out. `problem` says what kept a level from being
/// measured (the others are), or that they differed; `doubt`, why the numbers should not be kept.
model::Parameters measure(const topo::Topology& node, std::string* problem, std::string* doubt);

/// The prices as a table, with units.
std::string prices_as_text(const model::Parameters& prices);

}  // namespace weft::tool
