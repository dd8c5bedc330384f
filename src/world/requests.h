// SPDX-License-Identifier: Apache-2.0
//
// Requests that neither messages nor collectives complete.
#pragma once

#include "object/grequest.h"

namespace weft {
struct Rank;
}

namespace weft::world {

/// MPI_Grequest_start and MPI_Grequest_complete (MPI-5.0 §13.2).
Err grequest_start(Rank& rank, const object::GeneralizedCalls& calls, MPI_Request* out);
Err grequest_complete(object::Request& request);

}  // namespace weft::world
