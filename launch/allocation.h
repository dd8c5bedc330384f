// SPDX-License-Identifier: Apache-2.0
//
// The words in which batch systems list hosts; allocated_hosts() of hosts.h asks the right one.
#pragma once

#include <string>
#include <vector>

#include "hosts.h"

namespace weft::launch {

/// "node[01-03,7],login" and "4(x3),2": how many tasks each has; "": that is not said.
std::vector<Host> hosts_of_slurm(const std::string& names, const std::string& tasks);
/// "hostA 4 hostB 2"
std::vector<Host> hosts_of_lsf(const std::string& text);

}  // namespace weft::launch
