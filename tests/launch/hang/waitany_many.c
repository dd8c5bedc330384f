// SPDX-License-Identifier: Apache-2.0
// Rank 0 takes whichever of 12 answers comes first; but rank 1 waits to be asked.
#include <mpi.h>

enum { answers = 12 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, question = 0, index, values[answers];
  MPI_Request requests[answers];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (int i = 0; i < answers; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitany(answers, requests, &index, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&question, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < answers; ++i) MPI_Send(&question, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
