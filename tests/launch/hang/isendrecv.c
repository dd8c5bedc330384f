// SPDX-License-Identifier: Apache-2.0
// In a ring each rank sends to the right, and expects from the right instead of the left.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, mine, other;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = (rank + 1) % size;
  mine = rank;
  MPI_Isendrecv(&mine, 1, MPI_INT, right, 8, &other, 1, MPI_INT, right, 8, MPI_COMM_WORLD,
                &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
