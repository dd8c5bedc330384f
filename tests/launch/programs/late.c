// SPDX-License-Identifier: Apache-2.0
// Rank 0 waits for a message that rank 1 sends a while after rank 0 was about to wait.
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, token = 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 1) {
    MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(200000);
    MPI_Send(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
