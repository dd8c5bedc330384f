// SPDX-License-Identifier: Apache-2.0
//
// PMI-1 and PMI-2, client side: MPICH's Hydra and its relatives, Slurm's pmi2. Both begin with a
// line of PMI-1 that names the version. Lines and frames were recorded with Hydra of MPICH 5.0.2
// and Intel MPI 2021.19 and with Slurm 22.05.
#pragma once

#include <memory>
#include <string>

#include "base/err.h"
#include "wireup/manager.h"
#include "wireup/stream.h"

namespace weft::wireup {

/// Who a rank is, from its environment or from the manager.
struct Identity {
  int rank = 0;
  int size = 1;
  std::string job;  // PMI_JOBID, which Slurm's PMI-2 wants to hear
};

/// For PMI_PORT: say who we are (PMI_ID) and learn rank and size.
Result<Identity> identify(int fd, int id);

/// Agree about the version on the connected stream `fd`, PMI-1 where the manager speaks it, and
/// introduce ourselves. `newest`: ask for PMI-2 at once.
Result<std::unique_ptr<Manager>> join_pmi(int fd, const Identity& who, bool newest = false);

}  // namespace weft::wireup
