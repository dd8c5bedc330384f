// SPDX-License-Identifier: Apache-2.0
//
// Where errors of entry points end.
#pragma once

#include <mpi.h>

#include "abi/gen/fn.h"

namespace weft::abi {

/// The end of an entry point that weft does not implement yet: MPI_ERR_UNSUPPORTED_OPERATION.
[[gnu::cold]] int not_yet(Fn fn, MPI_Comm comm = MPI_COMM_NULL);

}  // namespace weft::abi
