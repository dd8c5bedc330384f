// SPDX-License-Identifier: Apache-2.0
//
// mpiexec is two processes that watch each other. The supervisor is the one the user sees: it takes
// signals and passes them on as orders through a pipe. The worker starts the ranks and moves their
// output. If the worker dies, every process below comes to the supervisor, which kills it; if the
// supervisor dies (SIGKILL), the pipe ends and the worker ends the job. So nothing is ever left
// behind.
#pragma once

#include <signal.h>

namespace weft::launch {

/// Work done in the worker: `orders` delivers one byte per signal (its number), and ends when the
/// job must end at once. `mask` is the signal mask ranks start with. Returns mpiexec's exit code.
using Work = int (*)(void* context, int orders, const sigset_t& mask);

/// The user wants an end: of mpiexec's signals, those that end the job.
bool ends_jobs(int signal);

/// Run `work` in a worker process and see it through; returns the exit code.
int supervise(Work work, void* context);

}  // namespace weft::launch
