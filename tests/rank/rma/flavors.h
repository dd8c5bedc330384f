// SPDX-License-Identifier: Apache-2.0
// A window of each flavor over so many bytes, for tests that are the same for all of them.
#ifndef WEFT_TESTS_RANK_RMA_FLAVORS_H
#define WEFT_TESTS_RANK_RMA_FLAVORS_H

#include "../check.h"

enum { flavors = 4 };
static const int flavor_names[flavors] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                          MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC};

// How many nodes the ranks are on. With several a target on another node has a part in operations,
// and no memory is shared.
CHECK_UNUSED static int node_count(void) {
  const char* text = getenv("TEST_NODES");
  return text != NULL ? atoi(text) : 1;
}
// Does a target that is not in MPI delay nobody?
CHECK_UNUSED static int targets_may_compute(void) {
  const char* progress = getenv("WEFT_PROGRESS");
  return node_count() == 1 || (progress != NULL && strcmp(progress, "rank") == 0);
}

typedef struct {
  MPI_Win win;
  int flavor;
  char* memory;     // this rank's
  MPI_Aint* bases;  // what to add to displacements, by rank: 0 unless it is dynamic
} Flavored;

CHECK_UNUSED static Flavored open_window(int which, MPI_Aint bytes) {
  Flavored f = {MPI_WIN_NULL, flavor_names[which % flavors], NULL, NULL};
  if (f.flavor == MPI_WIN_FLAVOR_SHARED && node_count() > 1) f.flavor = MPI_WIN_FLAVOR_ALLOCATE;
  f.bases = alloc((size_t)size * sizeof *f.bases);
  MPI_Aint base = 0;
  switch (f.flavor) {
    case MPI_WIN_FLAVOR_CREATE:
      f.memory = alloc((size_t)bytes);
      OK(MPI_Win_create(f.memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &f.win));
      break;
    case MPI_WIN_FLAVOR_ALLOCATE:
      OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &f.memory, &f.win));
      break;
    case MPI_WIN_FLAVOR_SHARED:
      OK(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &f.memory, &f.win));
      break;
    default:
      f.memory = alloc((size_t)bytes);
      OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &f.win));
      OK(MPI_Win_attach(f.win, f.memory, bytes));
      OK(MPI_Get_address(f.memory, &base));
  }
  memset(f.memory, 0, (size_t)bytes);
  OK(MPI_Allgather(&base, 1, MPI_AINT, f.bases, 1, MPI_AINT, MPI_COMM_WORLD));
  return f;
}

CHECK_UNUSED static void close_window(Flavored* f) {
  if (f->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_detach(f->win, f->memory));
  }
  OK(MPI_Win_free(&f->win));
  CHECK(f->win == MPI_WIN_NULL, "MPI_Win_free left the handle %p", (void*)f->win);
  if (f->flavor == MPI_WIN_FLAVOR_CREATE || f->flavor == MPI_WIN_FLAVOR_DYNAMIC) free(f->memory);
  free(f->bases);
}

#endif
