// SPDX-License-Identifier: Apache-2.0
//
// PMIx (standard 4, chapters 5 to 7): PRRTE of Open MPI, Slurm's pmix. The protocol belongs to
// libpmix, which is opened when the environment names a server of it.
#pragma once

#include <memory>

#include "base/err.h"
#include "wireup/manager.h"

namespace weft::wireup {

bool has_pmix();
Result<std::unique_ptr<Manager>> join_pmix();

}  // namespace weft::wireup
