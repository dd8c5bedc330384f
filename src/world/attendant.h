// SPDX-License-Identifier: Apache-2.0
//
// Who starts the ranks that a job spawns: the mpiexec that started the job. A program that was
// started alone starts one of its own when it spawns for the first time.
#pragma once

#include "base/err.h"

namespace weft {
struct Rank;
}

namespace weft::world {

/// Somebody takes this job's orders from now on; or an error says why not.
Err call_launcher(Rank& rank);

}  // namespace weft::world
