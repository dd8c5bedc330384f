// SPDX-License-Identifier: Apache-2.0
//
// Entry points about the library itself that are too small for a room of their own: start and end,
// thread levels, versions, memory, the ABI's facts (MPI-5.0 chapters 9, 11, 20).
#pragma once

#include <mpi.h>

#include "abi/entry.h"

namespace weft::abi {

/// `provided` may be null (MPI_Init).
Err init(Rank& rank, int required, int* provided);
[[noreturn]] void abort(Rank& rank, const object::Comm& comm, int code);
Err is_initialized(const Rank& rank, int* flag);
Err is_finalized(const Rank& rank, int* flag);
Err query_thread(const Rank& rank, int* level);
Err is_thread_main(const Rank& rank, int* flag);

Err version(int* version, int* subversion);
Err library_version(char* text, int* length);
Err processor_name(char* text, int* length);

Err alloc_mem(object::Store& store, std::int64_t bytes, const object::Info* info,
              void* pointer_to_memory);
Err free_mem(object::Store& store, void* memory);

/// MPI_Comm_call_errhandler and its like: the handler decides; if it returns, all is well.
template <class Object>
Err call_errhandler(Entry& entry, Object& object, int code) {
  static_cast<void>(entry.raise(&object, Err{code}));
  return ok;
}

Err abi_version(int* major, int* minor);
/// Fortran's logicals are those of gfortran and flang: 1 and 0, in `size` bytes.
Err fortran_booleans(int size, void* is_true, void* is_false, int* is_set);
/// They are set from the start; setting what they are is legal, anything else is MPI_ERR_ABI.
Err set_fortran_booleans(int size, const void* is_true, const void* is_false);
Err set_fortran_info(const object::Info& info);
Err abi_info(Entry& entry, MPI_Info* info);
Err abi_fortran_info(Entry& entry, MPI_Info* info);

}  // namespace weft::abi
