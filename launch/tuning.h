// SPDX-License-Identifier: Apache-2.0
//
// The file in which `weft tune` keeps what this machine costs: one JSON file per machine in the
// user's cache directory. Reading it never fails: without a usable file the built-in prices serve,
// and a sentence says why.
#pragma once

#include <filesystem>
#include <string>

#include "model/machine.h"
#include "topo/topology.h"

namespace weft::launch {

/// What has to be the same for a file to be this machine's: processor and levels.
std::string tuning_key(const topo::Topology& node);

/// $XDG_CACHE_HOME/weft/tune-<hash of the key>.json, by default in ~/.cache; empty without a home.
std::filesystem::path tuning_path(const topo::Topology& node);

struct Tuning {
  model::Parameters prices = model::built_in();
  std::string when;       // it was measured; empty: it was not
  std::string complaint;  // why a file that is there does not serve; one sentence
};

/// The prices of `node`: measured ones if there is a file, for this machine and not another.
Tuning read_tuning(const topo::Topology& node);

/// Keep `prices`; "" or a sentence why not. The file is replaced as a whole.
std::string write_tuning(const topo::Topology& node, const model::Parameters& prices);

}  // namespace weft::launch
