// SPDX-License-Identifier: Apache-2.0
//
// Reduction kernels: out[i] = left[i] op right[i] for the predefined operations on basic types.
#pragma once

#include <cstdint>

#include "datatype/type.h"

namespace weft::datatype {

enum class Operation : std::uint8_t {
  null,
  sum,
  min,
  max,
  prod,
  band,
  bor,
  bxor,
  land,
  lor,
  lxor,
  minloc,
  maxloc,
  replace,
  no_op,
  user,
};

/// Is `op` defined for `basic` (MPI-5.0 §6.9.2)? Where several MPI types share a machine type, it
/// is if it is for one of them (MPI_LAND for MPI_INTEGER, as it is for MPI_INT).
bool is_defined(Operation op, Basic basic);
/// From one element to the next in a C array; and of what is between, the bytes of data (fewer
/// where a pair has a gap).
std::int64_t stride_of(Basic basic);
std::int64_t data_bytes(Basic basic);
/// From an element's first byte of data to its last: a gap at its end is not in it.
std::int64_t span_of(Basic basic);
/// Two vectors of n basic elements, and where the third goes: to one of them, or apart from both.
struct Vectors {
  const void* left;
  const void* right;
  void* out;
  std::int64_t n;
};
/// out[i] = left[i] op right[i] for elements as far apart as in a C array (pairs with a gap keep
/// it). `op` must be defined for `basic`.
///
/// cost     memory bound; the instruction set is chosen at the first call (AVX-512, AVX2, SSE2)
void reduce(Operation op, Basic basic, const Vectors& v);
/// inout[i] = in[i] op inout[i]
inline void reduce(Operation op, Basic basic, const void* in, void* inout, std::int64_t n) {
  reduce(op, basic, {in, inout, inout, n});
}

}  // namespace weft::datatype
