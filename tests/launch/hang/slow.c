// SPDX-License-Identifier: Apache-2.0
// Right, but slow: for as many seconds as its argument says rank 1 computes or both wait for little
// steps of each other, in receives, collectives and nonblocking calls.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  const double seconds = atof(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  if (rank == 1)  // computes
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) value++;
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank == 1) sleep((unsigned)seconds);  // does nothing at all
  MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);

  double begin = MPI_Wtime();  // little steps
  for (int more = 1; more; more = MPI_Wtime() - begin < seconds) {
    MPI_Request request;
    usleep(200000);
    if (rank == 0) {
      MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Ssend(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double now = MPI_Wtime();
    MPI_Bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (now - begin >= seconds) break;
  }
  MPI_Finalize();
  return 0;
}
