// SPDX-License-Identifier: Apache-2.0
// Sent with tag 6, expected with tag 5.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
