// SPDX-License-Identifier: Apache-2.0
//
// Reduction kernels: inout[i] = in[i] op inout[i] for the predefined operations on basic types.
#pragma once

#include <cstdint>

#include "datatype/type.h"

namespace weft::datatype {

enum class Operation : std::uint8_t {
  null, sum, min, max, prod, band, bor, bxor, land, lor, lxor, minloc, maxloc, replace, no_op, user,
};

/// Is `op` defined for `basic` (MPI-5.0 §6.9.2)?
bool is_defined(Operation op, Basic basic);
/// inout[i] = in[i] op inout[i] for n basic elements. `in` and `inout` do not overlap.
void reduce(Operation op, Basic basic, const void* in, void* inout, std::int64_t n);

}  // namespace weft::datatype
