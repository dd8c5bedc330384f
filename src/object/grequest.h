// SPDX-License-Identifier: Apache-2.0
//
// Generalized requests (MPI-5.0 §13.2): the user does the work and says when it is complete.
#pragma once

#include "base/err.h"
#include "object/objects.h"
#include "object/request.h"
#include "sync/lock.h"

namespace weft::object {

struct GeneralizedCalls {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* extra;
};

/// MPI_Grequest_start; `request` is active until complete_generalized.
/// `lock` is the engine's: no callback runs under it, because it may call anything.
Request* start_generalized(Store& store, pt2pt::Engine& engine, sync::RankLock& lock,
                           const GeneralizedCalls& calls);
/// MPI_Grequest_complete. The caller wakes whoever waits for the request.
Err complete_generalized(Request& request);

}  // namespace weft::object
