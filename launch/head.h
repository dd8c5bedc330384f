// SPDX-License-Identifier: Apache-2.0
//
// A job on several hosts, in mpiexec's worker process: an agent for each host (agent.h), started
// by `ssh HOST mpiexec --agent` or another command, the one for this machine without (branches.h).
// No rank starts before all agents have answered. What the agents send is shown here; when ranks
// fail on one host, or a host is lost, the others are told to end theirs.
#pragma once

#include <signal.h>

#include "options.h"

namespace weft::launch {

/// Run the job to its end; `orders` as in supervisor.h. Returns mpiexec's exit code.
int run_on_hosts(const Options& options, int orders, const sigset_t& mask);

}  // namespace weft::launch
