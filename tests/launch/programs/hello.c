// SPDX-License-Identifier: Apache-2.0
// hello [WORD]: every rank says who it is, and the sum of all ranks by a message round.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%s %d of %d, sum %d\n", argc > 1 ? argv[1] : "hello", rank, size, sum);
  MPI_Finalize();
  return 0;
}
