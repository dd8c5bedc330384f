// SPDX-License-Identifier: Apache-2.0
// Large transfers of derived types in windows are offered to idle threads (counted), and are right.
#include "../counter.h"
#include "flavors.h"

enum { n = 100000, stride = 3 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Datatype type;
  OK(MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &type));
  OK(MPI_Type_commit(&type));
  double* packed = alloc(sizeof(double) * n);
  double* back = alloc(sizeof(double) * n);
  for (int i = 0; i < n; ++i) packed[i] = i + rank * 0.5;
  const int to = right_of(rank);
  for (int which = 0; which < flavors; ++which) {
    Flavored f = open_window(which, (MPI_Aint)sizeof(double) * n * stride);
    void* direct = NULL;
    MPI_Aint bytes = 0;
    int unit = 0;
    if (f.flavor != MPI_WIN_FLAVOR_DYNAMIC)
      OK(MPI_Win_shared_query(f.win, to, &bytes, &unit, &direct));
    open_counter("jobs_offered", MPI_T_PVAR_CLASS_COUNTER);
    // Ranks of a process share what is offered, and who counts it; one job at a time is.
    unsigned long long puts = counted(), gets = 0;
    for (int turn = 0; turn < size; ++turn) {
      OK(MPI_Win_fence(0, f.win));
      if (rank == turn) OK(MPI_Put(packed, n, MPI_DOUBLE, to, f.bases[to], 1, type, f.win));
    }
    OK(MPI_Win_fence(0, f.win));
    puts = counted() - puts;
    long wrong = 0;
    const int from = (rank + size - 1) % size;
    for (int i = 0; i < n * stride; ++i)
      wrong += ((double*)f.memory)[i] != (i % stride == 0 ? i / stride + from * 0.5 : 0);
    EQ(wrong, 0);
    gets = counted();
    for (int turn = 0; turn < size; ++turn) {
      OK(MPI_Win_fence(0, f.win));
      if (rank == turn) OK(MPI_Get(back, n, MPI_DOUBLE, to, f.bases[to], 1, type, f.win));
    }
    OK(MPI_Win_fence(0, f.win));
    gets = counted() - gets;
    EQ(memcmp(back, packed, sizeof(double) * n), 0);
    unsigned long long mine[2] = {puts, gets}, all[2] = {0, 0};
    OK(MPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    // Where the memory is another process's the kernel copies.
    if (direct != NULL) {
      CHECK(all[0] >= (unsigned long long)size, "%llu puts were offered", all[0]);
      CHECK(all[1] >= (unsigned long long)size, "%llu gets were offered", all[1]);
    }
    close_counter();
    close_window(&f);
  }
  OK(MPI_Type_free(&type));
  free(packed);
  free(back);
  return finish();
}
