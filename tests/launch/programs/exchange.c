// SPDX-License-Identifier: Apache-2.0
// exchange: until its input ends all ranks send each other messages of all protocols, and check
// what they got; then rank 0 says "all right N", N ranks.
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { longest = 300000 };

static void fill(unsigned char* at, int bytes, int from, int round) {
  for (int i = 0; i < bytes; ++i) at[i] = (unsigned char)(i * 7 + from * 31 + round);
}

int main(int argc, char** argv) {
  static const int sizes[] = {0, 8, 32, 33, 4000, 70000, longest};
  int rank, size, more = 1;
  MPI_Init(&argc, &argv);
  unsigned char *out = malloc(longest), *in = malloc(longest), *expected = malloc(longest);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; more != 0; ++round) {
    const int bytes = sizes[round % 7], step = 1 + round % (size > 1 ? size - 1 : 1);
    const int to = (rank + step) % size, from = (rank + size - step) % size;
    fill(out, bytes, rank, round);
    fill(expected, bytes, from, round);
    MPI_Sendrecv(out, bytes, MPI_BYTE, to, round % 3, in, bytes, MPI_BYTE, from, round % 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; ++i)
      if (in[i] != expected[i]) {
        fprintf(stderr, "rank %d, round %d: byte %d of %d from rank %d is wrong\n", rank, round, i,
                bytes, from);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    struct pollfd input = {0, POLLIN, 0};
    if (rank == 0) more = poll(&input, 1, 0) == 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("all right %d\n", size);
  free(out), free(in), free(expected);
  MPI_Finalize();
  return 0;
}
