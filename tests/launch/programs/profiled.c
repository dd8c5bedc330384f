// SPDX-License-Identifier: Apache-2.0
// A program to be profiled: each rank sends rank + 3 messages to itself and reduces twice.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, value = 0, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < rank + 3; ++i) {
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
