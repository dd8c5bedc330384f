// SPDX-License-Identifier: Apache-2.0
#include "world/requests.h"

#include "world/rank.h"

namespace weft::world {

Err grequest_start(Rank& rank, const object::GeneralizedCalls& calls, MPI_Request* out) {
  object::Request* request =
      object::start_generalized(rank.store, rank.engine, rank.engine.lock, calls);
  *out = reinterpret_cast<MPI_Request>(request);
  return ok;
}

Err grequest_complete(object::Request& request) {
  pt2pt::Engine& engine = *request.engine;
  pt2pt::Waiting* const waiting = request.waiting;
  WEFT_TRY(object::complete_generalized(request));
  pt2pt::tell_waiters(engine, waiting);
  return ok;
}

}  // namespace weft::world
