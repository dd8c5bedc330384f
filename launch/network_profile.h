// SPDX-License-Identifier: Apache-2.0
//
// The file in which `weft tune --net` keeps what messages between nodes cost, beside those of the
// machines (tuning.h): one for all networks that this user has measured. All ranks of a job must
// count with the same numbers, so mpiexec reads the file on its own host, and tells the ranks by
// variables of the parameters net.latency, net.gap, net.bandwidth and net.pairs. What a user has
// set stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "model/machine.h"

namespace weft::launch {

struct NetworkProfile {
  std::string provider, interface;  // that were taken; empty: nothing was measured
  std::string when;
  std::int64_t latency_ns = 0, gap_ns = 0, bandwidth_mb_s = 0, pairs = 1;
  bool is_measured() const { return !provider.empty(); }
};

/// What a profile is for: nodes that this machine only pretends to be (their network is loopback),
/// or hosts, and what of their networks is asked for.
std::string network_key(bool loopback);
/// In the folder of tuning_path(); empty without a home.
std::filesystem::path network_path();

/// Nothing, or what was measured; `complaint`: why a file that is there does not serve.
NetworkProfile read_network(const std::string& key, std::string* complaint);
/// "" or a sentence why it is not kept. Profiles with other keys stay.
std::string write_network(const std::string& key, const NetworkProfile& profile);

/// Names of prices of messages between nodes, by which all ranks of a job must choose alike.
std::vector<std::string> network_price_variables();
/// NAME, VALUE: what was measured, of what the environment does not set.
std::vector<std::pair<std::string, std::string>> network_variables(bool loopback);

/// The prices that a job here would have: parameters that are set, else measured ones, else built
/// in; `source` says which.
model::Network network_prices(bool loopback, std::string* source);

}  // namespace weft::launch
