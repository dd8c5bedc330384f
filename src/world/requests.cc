// SPDX-License-Identifier: Apache-2.0
#include "world/requests.h"

#include "world/rank.h"

namespace weft::world {

void wake_waiters(pt2pt::Engine& engine) {
  if (engine.sleeping > 0) sync::wake(engine.inbox.parked());
}

Err grequest_start(Rank& rank, const object::GeneralizedCalls& calls, MPI_Request* out) {
  object::Request* request = object::start_generalized(rank.store, rank.engine, calls);
  *out = reinterpret_cast<MPI_Request>(request);
  return ok;
}

Err grequest_complete(object::Request& request) {
  pt2pt::Engine& engine = *request.engine;
  WEFT_TRY(object::complete_generalized(request));
  wake_waiters(engine);
  return ok;
}

}  // namespace weft::world
