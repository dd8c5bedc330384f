// SPDX-License-Identifier: Apache-2.0
#include "world/manager.h"

#include <cstdlib>
#include <cstring>

namespace weft::world {
namespace {

/// A task finds its number and that of all tasks in these variables.
struct Manager {
  const char* name;
  const char* rank;
  const char* size;  // of the manager or of who uses it; where nobody says, there may be several
  const char* advice;
};
constexpr Manager managers[] = {
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
     "try srun --mpi=pmix or --mpi=pmi2, or weft's mpiexec inside the allocation"},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "start them with weft's mpiexec"},
    {"PALS", "PALS_RANKID", "PALS_SIZE", "start them with weft's mpiexec"},
    {"a launcher with PMIx", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "start them with weft's mpiexec"},
    {"a launcher with PMI", "PMI_RANK", "PMI_SIZE", "start them with weft's mpiexec"},
};

}  // namespace

std::string unjoined_manager() {
  if (std::getenv("WEFT_RANK") != nullptr) return "";  // started by a rank, which weft started
  for (const Manager& m : managers) {
    const char* rank = std::getenv(m.rank);
    const char* size = std::getenv(m.size);
    const bool says_size = size != nullptr && *size != 0;
    const bool needs_size = std::strcmp(m.rank, "PMIX_RANK") != 0;
    if (rank == nullptr || (says_size ? std::atoi(size) < 2 : needs_size)) continue;
    if (std::strcmp(rank, "0") != 0) return "";
    return std::string("weft: this program was started ") + (says_size ? size : "as one of the") +
           (says_size ? " times by " : " tasks of ") + m.name +
           ", which weft cannot join yet: each task runs as a job of one rank; " + m.advice;
  }
  return "";
}

}  // namespace weft::world
