// SPDX-License-Identifier: Apache-2.0
// meet SECONDS: all ranks meet at a barrier and in a sum, rank 0 says "met N", and all stay so
// long.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) printf("met %d\n", size);
  fflush(stdout);
  const double seconds = atof(argv[1]);
  const struct timespec stay = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&stay, NULL);
  MPI_Finalize();
  return 0;
}
