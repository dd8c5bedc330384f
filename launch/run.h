// SPDX-License-Identifier: Apache-2.0
//
// The life of a job, in mpiexec's worker process: start all processes, move their output, pass on
// signals, and when one fails end the others.
#pragma once

#include <signal.h>

#include "memory/job.h"
#include "plan.h"

namespace weft::launch {

/// Run the plan to its end; `orders` as in supervisor.h. Returns mpiexec's exit code.
int run(const Options& options, Plan& plan, memory::Job& job, int orders, const sigset_t& mask);

}  // namespace weft::launch
