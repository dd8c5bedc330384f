// SPDX-License-Identifier: Apache-2.0
// Broadcast, reduce and allreduce of vectors so long that they go in several segments, whose last
// one is shorter: every root, in place and not, layouts that differ between ranks, several
// operations in a row on the same communicator.
#include "forms.h"

static long value(int who, long i) {
  return (long)(who + 1) * (i % 1009 + 1) - who * 7;
}
static long sum(long i) {
  long total = 0;
  for (int who = 0; who < size; ++who) total += value(who, i);
  return total;
}

static void broadcast(int root, int count) {
  const int stride = rank % 2 == 0 ? 1 : 2;
  int *data = alloc(sizeof(int) * (stride * count + 1)), wrong = 0;
  MPI_Datatype type;
  for (int i = 0; i <= stride * count; ++i) data[i] = -1;
  for (int i = 0; i < count && rank == root; ++i) data[stride * i] = item(root, 2, i);
  OK(MPI_Type_vector(count, 1, stride, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  COLL(Bcast, bcast, data, 1, type, root, MPI_COMM_WORLD);
  for (int i = 0; i < stride * count; ++i)
    wrong += data[i] != (i % stride == 0 ? item(root, 2, i / stride) : -1);
  CHECK(wrong == 0 && data[stride * count] == -1, "bcast of %d from %d: %d places are wrong", count,
        root, wrong);
  OK(MPI_Type_free(&type));
  free(data);
}

static void compare(const char* what, const long* got, int count, int in_place) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += got[i] != sum(i);
  CHECK(wrong == 0 && got[count] == -1, "%s of %d, in place %d: %d items are wrong", what, count,
        in_place, wrong);
}

static void fold(int root, int count, int in_place) {
  long *out = alloc(sizeof(long) * (count + 1)), *in = alloc(sizeof(long) * (count + 1));
  for (int i = 0; i < count; ++i) out[i] = value(rank, i);
  for (int i = 0; i <= count; ++i) in[i] = in_place && i < count ? out[i] : -1;
  const int keeps = in_place && rank == root;
  COLL(Reduce, reduce, keeps ? MPI_IN_PLACE : out, rank == root ? in : NULL, count, MPI_LONG,
       MPI_SUM, root, MPI_COMM_WORLD);
  if (rank == root) compare("reduce", in, count, in_place);
  for (int i = 0; i <= count; ++i) in[i] = in_place && i < count ? out[i] : -1;
  COLL(Allreduce, allreduce, in_place ? MPI_IN_PLACE : out, in, count, MPI_LONG, MPI_SUM,
       MPI_COMM_WORLD);
  compare("allreduce", in, count, in_place);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += out[i] != value(rank, i);
  CHECK(wrong == 0, "a reduction changed %d items of its send buffer", wrong);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  for (int root = 0; root < size; ++root) {
    broadcast(root, 100003);
    fold(root, 50021, root % 2);
  }
  fold(0, 150001, 0);
  fold(size - 1, 20000, 1);
  return finish();
}
