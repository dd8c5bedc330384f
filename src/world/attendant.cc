// SPDX-License-Identifier: Apache-2.0
#include "world/attendant.h"

#include "world/rank.h"

namespace weft::world {

Err call_launcher(Rank& rank) {
  // acquire: pairs with the launcher, which is ready then
  if (rank.process->job->header().takes_orders.load(std::memory_order_acquire) != 0) return ok;
  return fail(MPI_ERR_SPAWN,
              "this program was started alone, and nobody starts ranks for it; start it by "
              "mpiexec -n 1");
}

}  // namespace weft::world
