// SPDX-License-Identifier: Apache-2.0
//
// The entry points of weft/idle.h.
#include <mpi.h>

#include "parallel/openmp/members.h"
#pragma GCC visibility push(default)
#include "weft/idle.h"
#pragma GCC visibility pop

extern "C" int WEFT_Idle_threads(int* guaranteed, int* temporary) {
  const weft::parallel::openmp::Idle idle = weft::parallel::openmp::idle();
  if (guaranteed != nullptr) *guaranteed = idle.guaranteed;
  if (temporary != nullptr) *temporary = idle.temporary;
  return MPI_SUCCESS;
}
