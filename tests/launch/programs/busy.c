// SPDX-License-Identifier: Apache-2.0
// busy SECONDS: ranks exchange messages of all sizes, in pairs and all together, and compute
// between, until the time is over. What is received is checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 300000 };

static int sum_of(int from, int round) {
  return from * 7 + round;
}

int main(int argc, char** argv) {
  int rank, n, go_on = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  const double end = MPI_Wtime() + atof(argv[1]);
  int *out = malloc(most * sizeof(int)), *in = malloc(most * sizeof(int));
  unsigned seed = 1;  // the same on all ranks
  for (int round = 0; go_on; ++round) {
    seed = seed * 1664525u + 1013904223u;
    const int count = 1 + (int)(seed >> 8) % (round % 4 == 0 ? most : 3000);
    const int to = (rank + 1) % n, from = (rank + n - 1) % n;
    for (int i = 0; i < count; ++i) out[i] = sum_of(rank, round);
    MPI_Sendrecv(out, count, MPI_INT, to, round, in, count, MPI_INT, from, round, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      if (in[i] != sum_of(from, round)) MPI_Abort(MPI_COMM_WORLD, 3);
    const int mine = MPI_Wtime() < end;
    MPI_Allreduce(&mine, &go_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0 && round % 50 == 0) printf("round %d\n", round);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
