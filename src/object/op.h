// SPDX-License-Identifier: Apache-2.0
//
// Reduction operations (MPI-5.0 §6.9): the predefined ones, those of users, and applying either.
#pragma once

#include <cstdint>

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

/// The predefined operation of an ABI handle, nullptr if it is none. Constant, shared by all ranks.
const Op* predefined_op(MPI_Op handle);

/// "MPI_SUM"; "of a user" for user operations.
const char* name_of(datatype::Operation operation);

Err create_op(Store& store, MPI_User_function* function, int commute, MPI_Op* out);
Err create_op_c(Store& store, MPI_User_function_c* function, int commute, MPI_Op* out);
Err free_op(Store& store, MPI_Op* handle);

/// May `op` be applied to `type` (§6.9.2)? User operations may be applied to anything.
Err check_op(const Op& op, const datatype::Type& type);

}  // namespace weft::object
