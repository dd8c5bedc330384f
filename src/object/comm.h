// SPDX-License-Identifier: Apache-2.0
//
// Local functions of communicators: comparison, info hints, the group handles. Construction and
// freeing, which talk to other ranks, are world/comms.h.
#pragma once

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

/// MPI_Comm_compare (§7.4.1).
int compare_comms(const Comm& a, const Comm& b);
/// Keep the hints of `info` (may be null) that weft knows; others are ignored (§7.4.4).
Err set_hints(Comm& comm, const Info* info);
/// MPI_Comm_get_info: the hints in use, as a new info.
void get_hints(const Comm& comm, MPI_Info* out);
Err remote_group(const Comm& comm, MPI_Group* out);
Err remote_size(const Comm& comm, int* size);

}  // namespace weft::object
