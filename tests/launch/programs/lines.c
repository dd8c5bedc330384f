// SPDX-License-Identifier: Apache-2.0
// lines N: every rank writes N lines to stdout, in pieces, and some to stderr; lines of ranks must
// not mix.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int lines = argc > 1 ? atoi(argv[1]) : 100;
  for (int i = 0; i < lines; ++i) {
    printf("begin %d ", rank);
    fflush(stdout);
    for (int k = 0; k < i % 50; ++k) printf("%d,", rank);
    fflush(stdout);
    printf(" line %d end\n", i);
    if (i % 10 == 0) fprintf(stderr, "error %d %d\n", rank, i);
  }
  MPI_Finalize();
  return 0;
}
