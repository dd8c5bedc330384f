// SPDX-License-Identifier: Apache-2.0
// Put, get and accumulate between fences, on windows of all flavors, with derived types at both
// sides.
#include "flavors.h"

enum { rows = 12, columns = 9 };

// Each rank puts one int to every other, then reads what every other got.
static void all_to_all(int which) {
  Flavored f = open_window(which, size * (MPI_Aint)sizeof(int));
  int* memory = (int*)f.memory;
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, f.win));
  int* values = alloc((size_t)size * sizeof(int));
  for (int to = 0; to < size; ++to) {
    const MPI_Aint at = f.bases[to] + rank * (int)sizeof(int);
    values[to] = 1000 * rank + to;
    OK(MPI_Put(&values[to], 1, MPI_INT, to, at, 1, MPI_INT, f.win));
  }
  OK(MPI_Win_fence(0, f.win));
  for (int from = 0; from < size; ++from) EQ(memory[from], 1000 * from + rank);
  int* got = alloc((size_t)(size * size) * sizeof(int));
  for (int from = 0; from < size; ++from)
    OK(MPI_Get(&got[from * size], size, MPI_INT, from, f.bases[from], size, MPI_INT, f.win));
  OK(MPI_Win_fence(0, f.win));
  for (int i = 0; i < size * size; ++i) EQ(got[i], 1000 * (i % size) + i / size);
  const int one = 1;
  for (int to = 0; to < size; ++to)
    OK(MPI_Accumulate(&one, 1, MPI_INT, to, f.bases[to], 1, MPI_INT, MPI_SUM, f.win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
  EQ(memory[0], rank + size);
  free(got);
  free(values);
  close_window(&f);
}

// A column of a matrix becomes a row of another one's, and the reverse.
static void typed(int which) {
  Flavored f = open_window(which, rows * columns * (MPI_Aint)sizeof(double));
  double* memory = (double*)f.memory;
  double mine[rows][columns], back[rows][columns];
  MPI_Datatype column, pairs;
  OK(MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column));
  OK(MPI_Type_commit(&column));
  OK(MPI_Type_create_indexed_block(3, 2, (int[]){4, 0, 8}, MPI_DOUBLE, &pairs));
  OK(MPI_Type_commit(&pairs));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) mine[i][j] = 10000 * rank + 100 * i + j;
  memset(back, 0, sizeof back);
  const int to = right_of(rank), from = left_of(rank);
  OK(MPI_Win_fence(0, f.win));
  OK(MPI_Put(&mine[0][3], 1, column, to, f.bases[to], rows, MPI_DOUBLE, f.win));
  OK(MPI_Win_fence(0, f.win));
  for (int i = 0; i < rows; ++i) CHECK(memory[i] == 10000 * from + 100 * i + 3, "%g", memory[i]);
  OK(MPI_Get(&back[0][5], 1, column, to, f.bases[to], rows, MPI_DOUBLE, f.win));
  OK(MPI_Win_fence(0, f.win));
  for (int i = 0; i < rows; ++i) CHECK(back[i][5] == mine[i][3], "%g", back[i][5]);
  OK(MPI_Put(mine, 6, MPI_DOUBLE, to, f.bases[to] + 16 * (int)sizeof(double), 1, pairs, f.win));
  OK(MPI_Win_fence(0, f.win));
  const int where[] = {4, 5, 0, 1, 8, 9};
  for (int i = 0; i < 6; ++i)
    CHECK(memory[16 + where[i]] == 10000 * from + i, "%d: %g", i, memory[16 + where[i]]);
  OK(MPI_Accumulate(&mine[0][0], 1, column, to, f.bases[to], 1, column, MPI_SUM, f.win));
  OK(MPI_Win_fence(0, f.win));
  // Row i of column 0: what the put left in the first twelve doubles, or nothing.
  CHECK(memory[0] == 10000 * from + 3 + 10000 * from, "%g", memory[0]);
  CHECK(memory[11 * columns] == 10000 * from + 1100, "%g", memory[11 * columns]);
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&pairs));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
  close_window(&f);
}

// Long blocks, counts of MPI_Count, targets that are nobody.
static void long_blocks(int which) {
  enum { bytes = 3 << 20 };
  Flavored f = open_window(which, bytes);
  unsigned char* data = alloc(bytes);
  const int to = right_of(rank), from = left_of(rank);
  fill(data, bytes, (unsigned)rank);
  OK(MPI_Win_fence(0, f.win));
  OK(MPI_Put_c(data, bytes, MPI_BYTE, to, f.bases[to], bytes, MPI_BYTE, f.win));
  OK(MPI_Put(data, bytes, MPI_BYTE, MPI_PROC_NULL, 0, bytes, MPI_BYTE, f.win));
  OK(MPI_Win_fence(0, f.win));
  FILLED(f.memory, bytes, (unsigned)from);
  memset(data, 0, bytes);
  OK(MPI_Get_c(data, bytes, MPI_BYTE, to, f.bases[to], bytes, MPI_BYTE, f.win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
  FILLED(data, bytes, (unsigned)rank);
  free(data);
  close_window(&f);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int which = 0; which < flavors; ++which) {
    all_to_all(which);
    typed(which);
    long_blocks(which);
  }
  return finish();
}
