// SPDX-License-Identifier: Apache-2.0
//
// The OpenMP runtimes of this process (libgomp, libomp, libiomp5), found without linking any: a
// program without OpenMP loads none. They all export libgomp's entry points. With ranks as threads
// each rank has runtimes of its own, so what is found is found for a thread.
#pragma once

#include <cstdint>

namespace weft::parallel::openmp {

struct Runtime {
  bool is_libgomp = false;
  int (*get_level)() = nullptr;
  int (*get_num_threads)() = nullptr;
  int (*get_thread_num)() = nullptr;
  int (*get_max_threads)() = nullptr;
  int (*get_num_procs)() = nullptr;
  int (*in_final)() = nullptr;
  void (*task)(void (*fn)(void*), void* data, void (*copy)(void*, void*), long size, long align,
               bool if_clause, unsigned flags, void** depend, int priority, void* detach) = nullptr;
  void (*parallel)(void (*fn)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
};

/// The runtime in one of whose regions the calling thread is, else the first that there is; null:
/// the program has none (yet: what is loaded later is found).
///
/// cost     warm: a few loads within a region; outside a walk to the loader's count of objects
const Runtime* current();
/// Has any thread of the process found one?
bool is_any_known();

/// The function `name` (of version `version`) behind the one of this library that was called in its
/// place; ends the process, with a sentence, if there is none.
void* behind(const char* name, const char* version);

}  // namespace weft::parallel::openmp
