// SPDX-License-Identifier: Apache-2.0
// MPI_Win_post, start, complete, wait and test: rings, all with all, one-sided groups, many epochs.
#include "flavors.h"

static MPI_Group world;

static MPI_Group group_of(int n, const int* ranks) {
  MPI_Group group;
  OK(MPI_Group_incl(world, n, ranks, &group));
  return group;
}

// Each rank writes to its right neighbour, in many epochs; every other one ends with MPI_Win_test.
static void ring(int which) {
  Flavored f = open_window(which, sizeof(int));
  volatile int* memory = (volatile int*)f.memory;
  MPI_Group left = group_of(1, (int[]){left_of(rank)});
  MPI_Group right = group_of(1, (int[]){right_of(rank)});
  for (int epoch = 1; epoch <= 100; ++epoch) {
    const int value = 1000 * epoch + rank, to = right_of(rank);
    OK(MPI_Win_post(left, 0, f.win));
    OK(MPI_Win_start(right, 0, f.win));
    OK(MPI_Put(&value, 1, MPI_INT, to, f.bases[to], 1, MPI_INT, f.win));
    OK(MPI_Win_complete(f.win));
    if (epoch % 2) {
      OK(MPI_Win_wait(f.win));
    } else {
      int flag = 0;
      while (!flag) OK(MPI_Win_test(f.win, &flag));
    }
    EQ(*memory, 1000 * epoch + left_of(rank));
  }
  OK(MPI_Group_free(&left));
  OK(MPI_Group_free(&right));
  close_window(&f);
}

// Rank 0 is everybody's target, then everybody's origin.
static void star(int which) {
  Flavored f = open_window(which, size * (MPI_Aint)sizeof(int));
  int* memory = (int*)f.memory;
  int* others = alloc((size_t)size * sizeof(int));
  for (int i = 1; i < size; ++i) others[i - 1] = i;
  MPI_Group rest = size > 1 ? group_of(size - 1, others) : MPI_GROUP_EMPTY;
  MPI_Group root = group_of(1, (int[]){0});
  for (int epoch = 1; epoch <= 20; ++epoch) {
    if (rank == 0) {
      OK(MPI_Win_post(rest, 0, f.win));
      OK(MPI_Win_wait(f.win));
      for (int i = 1; i < size; ++i) EQ(memory[i], 100 * epoch + i);
      OK(MPI_Win_start(rest, 0, f.win));
      for (int i = 1; i < size; ++i)
        OK(MPI_Put(&epoch, 1, MPI_INT, i, f.bases[i], 1, MPI_INT, f.win));
      OK(MPI_Win_complete(f.win));
    } else {
      const int value = 100 * epoch + rank;
      OK(MPI_Win_start(root, 0, f.win));
      OK(MPI_Put(&value, 1, MPI_INT, 0, f.bases[0] + rank * (int)sizeof(int), 1, MPI_INT, f.win));
      OK(MPI_Win_complete(f.win));
      OK(MPI_Win_post(root, 0, f.win));
      OK(MPI_Win_wait(f.win));
      EQ(memory[0], epoch);
    }
  }
  if (size > 1) OK(MPI_Group_free(&rest));
  OK(MPI_Group_free(&root));
  free(others);
  close_window(&f);
}

// All are origins and targets of all at once, themselves included.
static void everybody(int which) {
  Flavored f = open_window(which, sizeof(long));
  long* memory = (long*)f.memory;
  for (long epoch = 1; epoch <= 20; ++epoch) {
    OK(MPI_Win_post(world, MPI_MODE_NOSTORE, f.win));
    OK(MPI_Win_start(world, 0, f.win));
    const long value = epoch + rank;
    for (int to = 0; to < size; ++to)
      OK(MPI_Accumulate(&value, 1, MPI_LONG, to, f.bases[to], 1, MPI_LONG, MPI_SUM, f.win));
    OK(MPI_Win_complete(f.win));
    OK(MPI_Win_wait(f.win));
    EQ(*memory, size * epoch + size * (size - 1) / 2);
    *memory = 0;
  }
  close_window(&f);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int which = 0; which < flavors; ++which) {
    ring(which);
    star(which);
    everybody(which);
  }
  OK(MPI_Group_free(&world));
  return finish();
}
