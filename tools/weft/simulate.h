// SPDX-License-Identifier: Apache-2.0
//
// weft simulate: what collectives would take on a cluster that is only declared. Collected once as
// JSON; the text is written from that.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::tool {

struct Experiment {
  std::string collective;
  std::string bytes = "8,64KiB,1MiB";
  int nodes = 2;
  int each = 0;         // ranks of a node; 0: one per core
  std::string machine;  // hwloc's synthetic form; empty: this machine
  std::string network;  // latency=NS,gap=NS,bandwidth=MB/s,hop=NS; empty: as a job here
  std::string fabric = "full";
  int tree_width = 0;  // agents that one process starts; 0: as mpiexec
  std::string mode = "process";
  std::string way;      // empty: all that weft considers
  std::string on_node;  // a way for the phases on nodes
  bool compare = false;
  bool json = false;
};

/// Answers on stdout; the exit code. `prefix` has bin/ and share/.
int simulate(const Experiment& experiment, const std::filesystem::path& prefix);

/// For people.
std::string simulation_as_text(const nlohmann::ordered_json& answer);

}  // namespace weft::tool
