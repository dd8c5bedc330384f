// SPDX-License-Identifier: Apache-2.0
// Ranks that wait in MPI help one that packs, unpacks or reduces: the right bytes at any size, and
// with threads (or helper threads of weft's own) others do some of it; their own messages are not
// forgotten meanwhile.
#include <unistd.h>

#include "../counter.h"

enum { most = 1 << 21, stride = 3 };
static double *spread, *packed, *back, *sum;

static void pack_and_check(int n) {
  MPI_Datatype type;
  int position = 0;
  OK(MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Pack(spread, 1, type, packed, n * 8, &position, MPI_COMM_WORLD));
  EQ(position, n * 8);
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += packed[i] != spread[i * stride];
  EQ(wrong, 0);
  memset(back, 0, sizeof(double) * (size_t)(n * stride));
  position = 0;
  OK(MPI_Unpack(packed, n * 8, &position, back, 1, type, MPI_COMM_WORLD));
  for (int i = 0; i < n * stride; ++i) wrong += back[i] != (i % stride == 0 ? spread[i] : 0);
  EQ(wrong, 0);
  OK(MPI_Type_free(&type));
}

static void fold_and_check(int n) {
  for (int i = 0; i < n; ++i) sum[i] = i;
  OK(MPI_Reduce_local(spread, sum, n, MPI_DOUBLE, MPI_SUM));
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += sum[i] != spread[i] + i;
  EQ(wrong, 0);
}

// Does the testlist say that there is somebody to help, and is there a CPU for it?
static int expected(void) {
  return getenv("IS_HELPED") != NULL && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (rank == 0) {
    spread = alloc(sizeof(double) * most * stride);
    back = alloc(sizeof(double) * most * stride);
    packed = alloc(sizeof(double) * most);
    sum = alloc(sizeof(double) * most);
    for (int i = 0; i < most * stride; ++i) spread[i] = i % 8191;
    open_counter("chunks_given", MPI_T_PVAR_CLASS_COUNTER);
    const double start = MPI_Wtime();
    for (int n = 1; n <= most; n = n * 3 + 1) {
      pack_and_check(n);
      fold_and_check(n);
    }
    // On a busy machine help may come late.
    while (expected() && counted() == 0 && MPI_Wtime() - start < 30) pack_and_check(most);
    CHECK(!expected() || counted() > 0, "nobody helped in 30 s");
    close_counter();
  }
  int token = rank;
  OK(MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD));
  EQ(token, 0);
  // Two that wait for messages, and one that only gives work.
  if (rank == 0) {
    for (int r = 1; r < size; ++r) {
      fold_and_check(1 << 18);
      OK(MPI_Send(&r, 1, MPI_INT, r, 0, MPI_COMM_WORLD));
    }
  } else {
    OK(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(token, rank);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
