// SPDX-License-Identifier: Apache-2.0
// Ends although messages were not received: rank 0 sends rank 1 as many as its argument says, all
// with another tag than rank 1 receives, one large one it cancels, and one is received.
#include <mpi.h>
#include <stdlib.h>

static char large[1 << 20];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm library;
  MPI_Comm_dup(MPI_COMM_WORLD, &library);
  MPI_Comm_set_name(library, "library");
  if (rank == 0) {
    for (int tag = 0; tag < atoi(argv[1]); tag++) {
      MPI_Send(&value, 1, MPI_INT, 1, 100 + tag, MPI_COMM_WORLD);
      MPI_Send(&value, 1, MPI_INT, 1, 100 + tag, MPI_COMM_WORLD);
      MPI_Send(&value, 0, MPI_INT, 1, 100 + tag, library);
    }
    MPI_Request request;
    MPI_Isend(large, sizeof large, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  }
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(library);
  MPI_Finalize();
  return 0;
}
