// SPDX-License-Identifier: Apache-2.0
//
// The life of a job, in mpiexec's worker process: start all processes, move their output, pass on
// signals, and when one fails end the others.
#pragma once

#include <signal.h>

#include "memory/job.h"
#include "output.h"
#include "plan.h"

namespace weft::launch {

/// An order that is no signal: ranks on another host failed.
inline constexpr char order_to_end = 0;
/// No ranks will be spawned here any more: end when none runs.
inline constexpr char order_to_leave = -1;
/// A std::int32_t follows: gdb is to show the threads of this rank's process.
inline constexpr char order_to_debug = -2;

/// Run the plan to its end; `orders` as in supervisor.h. Returns mpiexec's exit code. Where ranks
/// run on other hosts too, what mpiexec needs to know goes upstream as frames: output, and why the
/// job has to end (`failed`), and who `left`; otherwise that is said here.
int run(const Options& options, Plan& plan, memory::Job& job, int orders, const sigset_t& mask,
        const Upstream* upstream = nullptr);

/// For ranks that no mpiexec of weft's has started, whose job this is: start what they spawn, until
/// they and all of that have ended. Of several hosts: those of this one.
int attend(const Options& options, memory::Job& job, int orders, const sigset_t& mask,
           const Upstream* upstream = nullptr);

}  // namespace weft::launch
