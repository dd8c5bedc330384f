// SPDX-License-Identifier: Apache-2.0
// Rows of broadcasts, gathers, scatters and reductions of lengths that are cut into pieces of
// different lengths, with nothing between them that everybody waits for: what a rank writes must
// not be where others still read.
#include <unistd.h>

#include "../check.h"
#include "elements.h"

enum { rounds = 60, most = 70000 };

int main(int argc, char** argv) {
  // 1, 5, 2, 8 or more pieces, of 16, 32 or 64 KiB.
  static const int counts[] = {2000, 20000, 4100, 34000, 3000, most};
  start(&argc, &argv);
  long *all = alloc(sizeof(long) * (size_t)most * (size_t)size), *one = alloc(sizeof(long) * most);
  for (int kind = 0; kind < 4; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      const int count = counts[round % 6], root = round / 20 % size;
      const int sends = rank == root ? size : 0;
      long wrong = 0;
      // Who writes may be ahead.
      const int reads = (kind == 0 || kind == 2) == (rank != root);
      if (reads) usleep(200);
      if (kind == 0) {
        for (int i = 0; i < count; ++i) one[i] = rank == root ? element(root, round, i) : -1;
        OK(MPI_Bcast(one, count, MPI_LONG, root, MPI_COMM_WORLD));
        wrong = wrong_in(one, root, round, 0, count);
      } else if (kind == 1) {
        for (int i = 0; i < count; ++i) one[i] = element(rank, round, i);
        OK(MPI_Gather(one, count, MPI_LONG, all, count, MPI_LONG, root, MPI_COMM_WORLD));
        for (int r = 0; r < sends; ++r)
          wrong += wrong_in(all + (long)r * count, r, round, 0, count);
      } else if (kind == 2) {
        for (long i = 0; i < (long)sends * count; ++i) all[i] = element(root, round, i);
        OK(MPI_Scatter(all, count, MPI_LONG, one, count, MPI_LONG, root, MPI_COMM_WORLD));
        wrong = wrong_in(one, root, round, (long)rank * count, count);
      } else {
        for (int i = 0; i < count; ++i) one[i] = element(rank, round, i);
        OK(MPI_Reduce(one, all, count, MPI_LONG, MPI_MAX, root, MPI_COMM_WORLD));
        if (rank == root) wrong = wrong_in(all, size - 1, round, 0, count);
      }
      CHECK(wrong == 0, "kind %d, round %d, root %d, %d items: %ld wrong", kind, round, root, count,
            wrong);
    }
  }
  free(all);
  free(one);
  return finish();
}
