// SPDX-License-Identifier: Apache-2.0
//
// mpiexec is two processes that watch each other. The supervisor is the one the user sees: it takes
// signals and passes them on as orders through a pipe. The worker starts the ranks and moves their
// output. If the worker dies, every process below comes to the supervisor, which kills it; if the
// supervisor dies (SIGKILL), the pipe ends and the worker ends the job. So nothing is ever left
// behind.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace weft::launch {

/// Work done in the worker: `orders` delivers one byte per signal (its number), and ends when the
/// job must end at once. `mask` is the signal mask ranks start with. Returns mpiexec's exit code.
using Work = int (*)(void* context, int orders, const sigset_t& mask);

struct Worker {
  pid_t pid;
  int orders;  // our end
};
/// The signals that matter here are blocked and waited for from now on. Returns which signals.
sigset_t block_signals();
/// A process that does the work; processes that lose their parents become this one's. Throws
/// Failure.
Worker start_worker(Work work, void* context, const sigset_t& mask);

/// The user wants an end: of mpiexec's signals, those that end the job.
bool ends_jobs(int signal);

/// Run `work` in a worker process and see it through; returns the exit code.
int supervise(Work work, void* context);

}  // namespace weft::launch
