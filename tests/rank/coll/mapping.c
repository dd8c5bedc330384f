// SPDX-License-Identifier: Apache-2.0
// Collectives do not depend on where ranks are: communicators in the order of the cores, backwards,
// with neighbours far from each other, with every third rank, and of one rank alone. Sizes from a
// line to what no slot holds, so that each communicator goes several ways.
#include "forms.h"

static const long sizes[] = {1, 5, 100, 3000, 40000};
enum { sizes_tried = sizeof sizes / sizeof sizes[0], longest = 40000 };
static int *mine, *got;  // `longest` for each rank

static void prepare(int me, int blocks, long n) {
  for (int b = 0; b < blocks; ++b)
    for (long i = 0; i < n; ++i) mine[b * n + i] = item(me, b, i);
  memset(got, 0, (size_t)(blocks > 1 ? blocks : 1) * (size_t)n * sizeof *got);
}
static int sum_of(int ranks, int to, long i) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) sum += item(r, to, i) % 1000;
  return sum;
}
static void shorten(long n) {
  for (long i = 0; i < n; ++i) mine[i] %= 1000;
}

static void reductions(MPI_Comm comm, int me, int p, int root, long n) {
  prepare(me, 1, n);
  shorten(n);
  COLL(Allreduce, allreduce, mine, got, (int)n, MPI_INT, MPI_SUM, comm);
  for (long i = 0; i < n; i += 1 + n / 7)
    CHECK(got[i] == sum_of(p, 0, i), "allreduce of %ld: %d at %ld", n, got[i], i);
  prepare(me, 1, n);
  shorten(n);
  COLL(Reduce, reduce, mine, got, (int)n, MPI_INT, MPI_SUM, root, comm);
  for (long i = 0; me == root && i < n; i += 1 + n / 7)
    CHECK(got[i] == sum_of(p, 0, i), "reduce of %ld: %d at %ld", n, got[i], i);
  COLL(Scan, scan, mine, got, (int)n, MPI_INT, MPI_SUM, comm);
  for (long i = 0; i < n; i += 1 + n / 7)
    CHECK(got[i] == sum_of(me + 1, 0, i), "scan of %ld: %d at %ld", n, got[i], i);
  prepare(me, p, n);
  shorten(p * n);
  COLL(Reduce_scatter_block, reduce_scatter_block, mine, got, (int)n, MPI_INT, MPI_SUM, comm);
  for (long i = 0; i < n; i += 1 + n / 7)
    CHECK(got[i] == sum_of(p, me, i), "reduce_scatter of %ld: %d at %ld", n, got[i], i);
}

static void moves(MPI_Comm comm, int me, int p, int root, long n) {
  prepare(me, 1, n);
  COLL(Bcast, bcast, mine, (int)n, MPI_INT, root, comm);
  for (long i = 0; i < n; i += 1 + n / 7)
    CHECK(mine[i] == item(root, 0, i), "bcast of %ld: %d at %ld", n, mine[i], i);
  prepare(me, p, n);
  COLL(Alltoall, alltoall, mine, (int)n, MPI_INT, got, (int)n, MPI_INT, comm);
  for (int r = 0; r < p; ++r)
    CHECK(got[(r + 1) * n - 1] == item(r, me, n - 1), "alltoall of %ld from %d", n, r);
  COLL(Allgather, allgather, mine, (int)n, MPI_INT, got, (int)n, MPI_INT, comm);
  for (int r = 0; r < p; ++r)
    CHECK(got[(r + 1) * n - 1] == item(r, 0, n - 1), "allgather of %ld from %d", n, r);
  COLL(Gather, gather, mine, (int)n, MPI_INT, got, (int)n, MPI_INT, root, comm);
  for (int r = 0; me == root && r < p; ++r)
    CHECK(got[(r + 1) * n - 1] == item(r, 0, n - 1), "gather of %ld from %d", n, r);
  COLL(Scatter, scatter, mine, (int)n, MPI_INT, got, (int)n, MPI_INT, root, comm);
  CHECK(got[n - 1] == item(root, me, n - 1), "scatter of %ld", n);
}

// Those with `part` >= 0, ordered by `place`.
static void on(int part, int place) {
  MPI_Comm comm;
  OK(MPI_Comm_split(MPI_COMM_WORLD, part < 0 ? MPI_UNDEFINED : part, place, &comm));
  if (comm == MPI_COMM_NULL) return;
  int me, p;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &p));
  for (int i = 0; i < sizes_tried; ++i) {
    const long n = p > 4 ? sizes[i] / 2 + 1 : sizes[i];
    reductions(comm, me, p, i % p, n);
    moves(comm, me, p, (i + 1) % p, n);
  }
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  mine = malloc(sizeof *mine * longest * (size_t)size);
  got = malloc(sizeof *got * longest * (size_t)size);
  on(0, rank);
  on(0, -rank);
  on(0, rank * 5 % 7 * 100 + rank);
  on(rank % 3, rank);
  on(rank == size - 1 ? 0 : -1, 0);
  free(mine);
  free(got);
  return finish();
}
