// SPDX-License-Identifier: Apache-2.0
// Rank 1 expects a message before it joins a reduction whose end the others await before they send.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, mine = 1, sum, go = 0;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) MPI_Recv(&go, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&go, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
