// SPDX-License-Identifier: Apache-2.0
// Subarrays and distributed arrays: every rank's part of a block, cyclic and undistributed array
// covers the whole once.
#include "../check.h"

enum { rows = 13, columns = 10 };

// Sends this rank's part to rank 0, which receives all parts into one array by their types.
static void cover(int row_how, int row_arg, int column_how, int column_arg, const int* grid,
                  const char* what) {
  const int whole[2] = {rows, columns}, how[2] = {row_how, column_how},
            args[2] = {row_arg, column_arg};
  int data[rows][columns], mine[rows][columns], bytes = 0, total = 0, wrong = 0;
  MPI_Datatype type;
  MPI_Aint low, extent;
  OK(MPI_Type_create_darray(size, rank, 2, whole, how, args, grid, MPI_ORDER_C, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_size(type, &bytes));
  OK(MPI_Type_get_extent(type, &low, &extent));
  EQ(low, 0);
  EQ(extent, sizeof data);
  OK(MPI_Allreduce(&bytes, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(total == (int)sizeof data, "%s: the parts have %d bytes, the array %zu", what, total,
        sizeof data);
  for (int i = 0; i < rows * columns; ++i) mine[i / columns][i % columns] = 1000 * rank + i;
  memset(data, 0xff, sizeof data);
  MPI_Request request;
  OK(MPI_Isend(mine, 1, type, 0, 1, MPI_COMM_WORLD, &request));
  if (rank == 0) {
    int left = rows * columns;
    for (int from = 0; from < size; ++from) {
      MPI_Datatype theirs;
      OK(MPI_Type_create_darray(size, from, 2, whole, how, args, grid, MPI_ORDER_C, MPI_INT,
                                &theirs));
      OK(MPI_Type_commit(&theirs));
      OK(MPI_Recv(data, 1, theirs, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Type_free(&theirs));
    }
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        // Whose is (i, j)? In C order the last dimension of the grid of ranks runs fastest.
        int at[2], index[2] = {i, j};
        for (int d = 0; d < 2; ++d) {
          const int n = whole[d], p = grid[d];
          const int block = how[d] == MPI_DISTRIBUTE_NONE ? n
                            : how[d] == MPI_DISTRIBUTE_BLOCK
                                ? (args[d] == MPI_DISTRIBUTE_DFLT_DARG ? (n + p - 1) / p : args[d])
                            : args[d] == MPI_DISTRIBUTE_DFLT_DARG ? 1
                                                                  : args[d];
          at[d] = how[d] == MPI_DISTRIBUTE_NONE ? 0 : index[d] / block % p;
        }
        const int owner = at[0] * grid[1] + at[1];
        wrong += data[i][j] != 1000 * owner + i * columns + j;
        --left;
      }
    }
    EQ(left, 0);
    CHECK(wrong == 0, "%s: %d items came from the wrong rank", what, wrong);
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&type));
}

static void subarray(int order) {
  // The inner part of a 3-dimensional array, packed, against loops.
  const int whole[3] = {5, 6, 7}, part[3] = {2, 3, 4}, from[3] = {1, 2, 3};
  int data[5 * 6 * 7], out[24], k = 0, wrong = 0;
  MPI_Datatype type;
  for (int i = 0; i < 210; ++i) data[i] = i;
  OK(MPI_Type_create_subarray(3, whole, part, from, order, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Sendrecv(data, 1, type, rank, 1, out, 24, MPI_INT, rank, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  const int c = order == MPI_ORDER_C;
  for (int a = 0; a < part[c ? 0 : 2]; ++a) {
    for (int b = 0; b < part[1]; ++b) {
      for (int d = 0; d < part[c ? 2 : 0]; ++d) {
        const int slow = from[c ? 0 : 2] + a, middle = from[1] + b, fast = from[c ? 2 : 0] + d;
        wrong += out[k++] != (slow * whole[1] + middle) * whole[c ? 2 : 0] + fast;
      }
    }
  }
  CHECK(wrong == 0, "subarray in %s order: %d items wrong", c ? "C" : "Fortran", wrong);
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int column_grid[2] = {1, size}, row_grid[2] = {size, 1},
            square[2] = {size % 2 ? size : size / 2, size % 2 ? 1 : 2};
  const int none = MPI_DISTRIBUTE_NONE, block = MPI_DISTRIBUTE_BLOCK,
            cyclic = MPI_DISTRIBUTE_CYCLIC, dflt = MPI_DISTRIBUTE_DFLT_DARG;
  cover(block, dflt, none, dflt, row_grid, "rows in blocks");
  cover(none, dflt, block, dflt, column_grid, "columns in blocks");
  cover(cyclic, dflt, none, dflt, row_grid, "rows dealt singly");
  cover(none, dflt, cyclic, 3, column_grid, "columns dealt in threes");
  cover(block, dflt, cyclic, 2, square, "rows in blocks, columns dealt in twos");
  cover(cyclic, 2, block, dflt, square, "rows dealt in twos, columns in blocks");
  subarray(MPI_ORDER_C);
  subarray(MPI_ORDER_FORTRAN);
  return finish();
}
