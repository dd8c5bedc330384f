// SPDX-License-Identifier: Apache-2.0
// Sent on a duplicate of the communicator, expected on the original.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm copy;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "library");
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 5, copy);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
