// SPDX-License-Identifier: Apache-2.0
// Rows of broadcasts, reductions, gathers, scatters and scans, one after the other in an order that
// is drawn, of sizes that are one piece, several, and more than a room holds; the root stays for
// some operations and then changes. Nothing in a row waits for all ranks: whoever writes may run
// ahead of who reads, and what it writes must not be where others still read.
#include <unistd.h>

#include "../check.h"
#include "elements.h"

enum { rows = 12, row_length = 30, kinds = 5, most = 300000 };

static unsigned state = 1;
static unsigned draw(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 10) % below;
}

// The largest of all elements i is that of the last rank; of ranks 0 to r, that of rank r.
static long run(int kind, int operation, int count, int root, int in_place, long* one, long* all) {
  long wrong = 0;
  void* const here = MPI_IN_PLACE;
  switch (kind) {
    case 0:
      write_elements(one, rank, operation, count);
      OK(MPI_Bcast(one, count, MPI_LONG, root, MPI_COMM_WORLD));
      return wrong_in(one, root, operation, 0, count);
    case 1:
      write_elements(in_place && rank == root ? all : one, rank, operation, count);
      OK(MPI_Reduce(in_place && rank == root ? here : one, all, count, MPI_LONG, MPI_MAX, root,
                    MPI_COMM_WORLD));
      return rank == root ? wrong_in(all, size - 1, operation, 0, count) : 0;
    case 2:
      write_elements(one, rank, operation, count);
      OK(MPI_Gather(one, count, MPI_LONG, all, count, MPI_LONG, root, MPI_COMM_WORLD));
      for (int r = 0; r < size && rank == root; ++r)
        wrong += wrong_in(all + (long)r * count, r, operation, 0, count);
      return wrong;
    case 3:
      if (rank == root) write_elements(all, rank, operation, (long)size * count);
      OK(MPI_Scatter(all, count, MPI_LONG, one, count, MPI_LONG, root, MPI_COMM_WORLD));
      return wrong_in(one, root, operation, (long)rank * count, count);
    default:
      write_elements(in_place ? all : one, rank, operation, count);
      OK(MPI_Scan(in_place ? here : one, all, count, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
      return wrong_in(all, rank, operation, 0, count);
  }
}

int main(int argc, char** argv) {
  // 600 B, 8, 16, 17, 33, 80, 160 and 270 KiB, 1 and 2.3 MiB.
  static const int counts[] = {75, 1024, 2048, 2100, 4200, 10240, 20481, 34000, 131072, most};
  start(&argc, &argv);
  long *all = alloc(sizeof(long) * (size_t)most * (size_t)size), *one = alloc(sizeof(long) * most);
  for (int row = 0, operation = 0; row < rows; ++row) {
    const int slow = (int)draw(2 * (unsigned)size), long_ones = row % 3 == 2 ? 10 : 8;
    int root = 0, kind = 0;
    for (int i = 0; i < row_length; ++i, ++operation) {
      if (draw(3) == 0) root = (int)draw((unsigned)size);
      if (draw(2) == 0) kind = (int)draw(kinds);
      const int count = counts[draw((unsigned)long_ones)], in_place = (int)draw(2);
      if (rank == slow && i % 4 == 0) usleep(300);
      const long wrong = run(kind, operation, count, root, in_place, one, all);
      CHECK(wrong == 0, "row %d, operation %d, kind %d, root %d, %d items: %ld wrong", row, i, kind,
            root, count, wrong);
    }
  }
  free(all);
  free(one);
  return finish();
}
