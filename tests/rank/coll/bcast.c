// SPDX-License-Identifier: Apache-2.0
// Bcast: every root, many counts, and the root's layout different from the others'.
#include "forms.h"

static void plain(int root, int count) {
  int* data = alloc(sizeof(int) * (count + 1));
  for (int i = 0; i < count; ++i) data[i] = rank == root ? item(root, 0, i) : -1;
  data[count] = -77;
  COLL(Bcast, bcast, data, count, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    if (data[i] != item(root, 0, i))
      DIE("root %d, count %d: item %d is %d, expected %d", root, count, i, data[i],
          item(root, 0, i));
  }
  CHECK(data[count] == -77, "root %d, count %d: written past the end", root, count);
  free(data);
}

// Root: every third int; others: every second, or plain.
static void layouts(int root, int count) {
  const int stride = rank == root ? 3 : 1 + rank % 2, room = 3 * count;
  int *data = alloc(sizeof(int) * (room + 1)), wrong = 0;
  MPI_Datatype type;
  for (int i = 0; i < room; ++i) data[i] = -1;
  for (int i = 0; i < count && rank == root; ++i) data[stride * i] = item(root, 1, i);
  OK(MPI_Type_vector(count, 1, stride, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  COLL(Bcast, bcast, data, 1, type, root, MPI_COMM_WORLD);
  for (int i = 0; i < room; ++i) {
    const int here = i % stride == 0 && i / stride < count;
    wrong += data[i] != (here ? item(root, 1, i / stride) : -1);
  }
  CHECK(wrong == 0, "root %d, count %d, stride %d: %d places are wrong", root, count, stride,
        wrong);
  OK(MPI_Type_free(&type));
  free(data);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < counts_tried; ++i) {
      plain(root, counts_[i]);
      if (counts_[i]) layouts(root, counts_[i]);
    }
  }
  COLL(Bcast, bcast, NULL, 0, MPI_INT, size - 1, MPI_COMM_WORLD);
  int alone = 4;
  COLL(Bcast, bcast, &alone, 1, MPI_INT, 0, MPI_COMM_SELF);
  EQ(alone, 4);
  return finish();
}
