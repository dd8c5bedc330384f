// SPDX-License-Identifier: Apache-2.0
//
// The names of the ABI's constants that are passed as handles or addresses, for messages. The table
// is generated (gen/constants.cc).
#pragma once

namespace weft::abi {

/// "MPI_INT", "MPI_IN_PLACE"; nullptr if no constant has this value.
const char* constant_name(int value);

}  // namespace weft::abi
