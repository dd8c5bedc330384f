// SPDX-License-Identifier: Apache-2.0
// A synchronous send to itself: the receive that would end it comes after it.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Ssend(&value, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
