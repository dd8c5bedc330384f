// SPDX-License-Identifier: Apache-2.0
// One rank gathers while the other reduces, each to itself.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, mine = 1, all[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Reduce(&mine, all, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
