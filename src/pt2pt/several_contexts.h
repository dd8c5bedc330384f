// SPDX-License-Identifier: Apache-2.0
//
// The calls about several requests at once, where these are of different contexts (contexts.h): the
// caller holds no context's lock, and no two are held at a time. The arguments are those of
// pt2pt.h.
#pragma once

#include "pt2pt/pt2pt.h"

namespace weft::pt2pt::several_contexts {

Err startall(std::span<MPI_Request> requests);
Err waitany(std::span<MPI_Request> requests, int* index, MPI_Status* status);
Err testany(std::span<MPI_Request> requests, int* index, int* flag, MPI_Status* status);
Err waitall(std::span<MPI_Request> requests, MPI_Status* statuses);
Err testall(std::span<MPI_Request> requests, int* flag, MPI_Status* statuses);
Err waitsome(std::span<MPI_Request> requests, int* outcount, int* indices, MPI_Status* statuses);
Err testsome(std::span<MPI_Request> requests, int* outcount, int* indices, MPI_Status* statuses);
Err get_status_any(std::span<const MPI_Request> requests, int* index, int* flag,
                   MPI_Status* status);
Err get_status_all(std::span<const MPI_Request> requests, int* flag, MPI_Status* statuses);
Err get_status_some(std::span<const MPI_Request> requests, int* outcount, int* indices,
                    MPI_Status* statuses);

}  // namespace weft::pt2pt::several_contexts
