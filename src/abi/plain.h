// SPDX-License-Identifier: Apache-2.0
//
// Entry points that are one expression and need neither a rank nor a check: the clock, address
// arithmetic, handles as integers (MPI-5.0 §20: constants keep their value, objects get a number).
#pragma once

#include <mpi.h>
#include <time.h>

#include <cstdint>

#include "base/clock.h"
#include "base/pool.h"
#include "object/store.h"

namespace weft::abi {

/// Seconds of the node's monotonic clock: the same for all ranks of a node.
inline double wtime() {
  return 1e-9 * static_cast<double>(now_ns());
}
inline double wtick() {
  timespec t;
  clock_getres(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Addresses are added as unsigned numbers: no overflow is an error here.
inline MPI_Aint aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) +
                               static_cast<std::uintptr_t>(disp));
}
inline MPI_Aint aint_diff(MPI_Aint a, MPI_Aint b) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(a) - static_cast<std::uintptr_t>(b));
}

using object::is_constant;
/// May this be followed? Neither null nor MPI_IN_PLACE, MPI_UNWEIGHTED, ...
template <class T>
bool is_address(const T* pointer) {
  return !is_constant(pointer);
}

template <class Handle>
int to_int(Handle handle) {
  if (is_constant(handle)) return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle));
  return object_index(handle);
}
template <class Handle>
Handle from_int(int value) {
  const auto constant = static_cast<std::uintptr_t>(static_cast<unsigned>(value));
  if (constant < object::first_address) return reinterpret_cast<Handle>(constant);
  return static_cast<Handle>(object_at(value));
}

}  // namespace weft::abi
