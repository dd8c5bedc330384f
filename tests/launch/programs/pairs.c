/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks of two nodes in pairs, which exchange short messages: rounds times there and back. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = atoi(argv[1]), first = rank < size / 2, partner = (rank + size / 2) % size;
  long wrong = 0;
  for (long round = 0; round < rounds; ++round) {
    long in = -1, out = rank * 1000000L + round;
    if (first) MPI_Send(&out, 1, MPI_LONG, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_LONG, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(&out, 1, MPI_LONG, partner, 0, MPI_COMM_WORLD);
    wrong += in != partner * 1000000L + round;
  }
  if (wrong != 0) printf("rank %d: %ld wrong\n", rank, wrong);
  MPI_Finalize();
  return 0;
}
