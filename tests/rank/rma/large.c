// SPDX-License-Identifier: Apache-2.0
// The forms with counts of type MPI_Count and displacement units of type MPI_Aint.
#include "flavors.h"

enum { n = 100 };
static long mine[n], old[n], window_memory[n];

static void operations(MPI_Win win, long* memory) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  const MPI_Count count = n;
  MPI_Request request;
  for (int i = 0; i < n; ++i) {
    memory[i] = 0;
    mine[i] = rank + i;
  }
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Rput_c(mine, count, MPI_LONG, to, 0, count, MPI_LONG, win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Accumulate_c(mine, count, MPI_LONG, to, 0, count, MPI_LONG, MPI_SUM, win));
  OK(MPI_Raccumulate_c(mine, count, MPI_LONG, to, 0, count, MPI_LONG, MPI_SUM, win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Get_accumulate_c(mine, count, MPI_LONG, old, count, MPI_LONG, to, 0, count, MPI_LONG,
                          MPI_SUM, win));
  OK(MPI_Win_flush(to, win));
  for (int i = 0; i < n; ++i) EQ(old[i], 3 * mine[i]);
  OK(MPI_Rget_accumulate_c(mine, count, MPI_LONG, old, count, MPI_LONG, to, 0, count, MPI_LONG,
                           MPI_REPLACE, win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) EQ(old[i], 4 * mine[i]);
  OK(MPI_Win_flush_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ(memory[i], from + i);
  OK(MPI_Rget_c(old, count - 1, MPI_LONG, to, 1, count - 1, MPI_LONG, win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < n - 1; ++i) EQ(old[i], rank + i + 1);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const MPI_Aint unit = sizeof(long);
  MPI_Win win;
  long* memory;
  OK(MPI_Win_create_c(window_memory, n * unit, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  operations(win, window_memory);
  OK(MPI_Win_allocate_c(n * unit, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  operations(win, memory);
  if (node_count() > 1) return finish();
  OK(MPI_Win_allocate_shared_c(n * unit, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  MPI_Aint bytes, found;
  void* base;
  OK(MPI_Win_shared_query_c(win, rank, &bytes, &found, &base));
  EQ(bytes, n * unit);
  EQ(found, unit);
  operations(win, memory);
  return finish();
}
