// SPDX-License-Identifier: Apache-2.0
//
// Who starts the ranks that a job spawns: the mpiexec that started the job. A program that was
// started alone, or a job of another process manager, starts one of its own when it spawns for the
// first time; on several nodes also when it opens a port.
#pragma once

#include "base/err.h"

namespace weft {
struct Rank;
}

namespace weft::memory {
class Job;
}

namespace weft::world {

/// Somebody takes this job's orders from now on; or an error says why not.
/// `progress`: by a thread that holds the lock of the rank's first context.
enum class Meanwhile { progress, sleep };
Err call_launcher(Rank& rank, Meanwhile meanwhile);
/// The one that this job has started. By any thread.
bool launcher_has_ended(memory::Job& job);

}  // namespace weft::world
