// SPDX-License-Identifier: Apache-2.0
// A member of the group makes another call first.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, value = 0;
  const int ranks[2] = {1, 2};
  MPI_Group world, group;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, ranks, &group);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank > 0) MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
  MPI_Finalize();
}
