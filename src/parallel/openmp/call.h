// SPDX-License-Identifier: Apache-2.0
//
// How idle OpenMP threads come to a job, with any runtime as it is. In a region: tokens, explicit
// tasks that nobody waits for. Threads at a barrier run them; one that comes late finds nothing to
// do; one that is thrown away is missed by nobody. Weft never calls a construct that waits
// (taskwait, taskgroup): it could run a task of the application within MPI, which deadlocks if that
// wants a lock that the caller has. Outside of regions: a region of as many threads as the last
// one had, so that their pool and their threadprivate data stay.
#pragma once

namespace weft::parallel::openmp {

/// Jobs of this process are offered to OpenMP threads from now on.
void call_for_jobs();

/// CPUs that the process's OpenMP runtime found when it started, 0: it has none. A runtime that
/// binds threads (OMP_PROC_BIND) has bound the main thread to one of them by then.
int cpus();
/// Threads of the calling thread's next region, unless the program asks for another number there;
/// 0: there is no runtime (yet).
int threads();

}  // namespace weft::parallel::openmp
