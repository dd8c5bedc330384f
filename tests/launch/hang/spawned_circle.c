// SPDX-License-Identifier: Apache-2.0
// Each of two spawned ranks receives from the other one first, and who spawned them waits for one.
// An argument is the program to spawn, in place of this one.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm parents, children;
  MPI_Comm_get_parent(&parents);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parents == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[argc - 1], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Comm_set_name(children, "children");
    MPI_Recv(&value, 1, MPI_INT, 1, 8, children, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, 0, 8, parents);
  }
  MPI_Finalize();
  return 0;
}
