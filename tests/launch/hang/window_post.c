// SPDX-License-Identifier: Apache-2.0
// Two ranks begin an access epoch towards each other, and neither exposes its memory.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, *memory;
  MPI_Win win;
  MPI_Group world, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_name(win, "halo");
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &(int){1 - rank}, &other);
  MPI_Win_start(other, 0, win);
  MPI_Win_post(other, 0, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Finalize();
  return 0;
}
