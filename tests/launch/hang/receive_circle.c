// SPDX-License-Identifier: Apache-2.0
// Each rank receives from its neighbour before it sends.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&value, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
