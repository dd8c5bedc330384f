// SPDX-License-Identifier: Apache-2.0
// Collectives, v and w forms too, do not depend on where ranks are: communicators in the order of
// the cores, backwards, with neighbours far from each other, with every third rank, and of one rank
// alone. Sizes from a line to what no slot holds, so that each communicator goes several ways.
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

// Blocks of all sizes beside each other: none, short ones, and every fifth so long that it goes
// alone between nodes. Symmetric, for MPI_IN_PLACE.
static int uneven_count(int a, int b, long n) {
  return (a + b) % 4 == 3 ? 0 : (a + b) % 5 == 2 ? (int)n : (int)(1 + (a * b) % 9);
}
static void check_block(const char* what, const int* block, int count, int from, int to) {
  for (int i = 0; i < count; ++i)
    if (block[i] != item(from, to, i))
      DIE("%s from %d to %d: item %d is %d", what, from, to, i, block[i]);
}

static void uneven_moves(MPI_Comm comm, int me, int p, int root, long n) {
  int *counts = alloc(sizeof(int) * p), *at = alloc(sizeof(int) * p),
      *ones = alloc(sizeof(int) * p);
  MPI_Datatype* types = alloc(sizeof(MPI_Datatype) * p);
  int mine_of_root = 0;
  long end = 0;
  for (int r = p - 1; r >= 0; --r) {
    counts[r] = uneven_count(root, r, n);
    at[r] = (int)end;
    end += counts[r] + 1;
  }
  mine_of_root = counts[me];
  for (int i = 0; i < mine_of_root; ++i) mine[i] = item(me, root, i);
  memset(got, 0, (size_t)longest * (size_t)p * sizeof *got);
  COLL(Gatherv, gatherv, mine, mine_of_root, MPI_INT, got, counts, at, MPI_INT, root, comm);
  for (int r = 0; me == root && r < p; ++r) check_block("gatherv", got + at[r], counts[r], r, root);
  for (int r = 0; r < p; ++r)
    for (int i = 0; i < counts[r]; ++i) mine[at[r] + i] = item(root, r, i);
  memset(got, 0, (size_t)longest * sizeof *got);
  COLL(Scatterv, scatterv, mine, counts, at, MPI_INT, got, mine_of_root, MPI_INT, root, comm);
  check_block("scatterv", got, mine_of_root, root, me);

  end = 0;
  for (int r = p - 1; r >= 0; --r) {
    counts[r] = uneven_count(me, r, n);
    at[r] = (int)end;
    end += counts[r];
    for (int i = 0; i < counts[r]; ++i) mine[at[r] + i] = item(me, r, i);
  }
  memset(got, 0, (size_t)longest * (size_t)p * sizeof *got);
  COLL(Alltoallv, alltoallv, mine, counts, at, MPI_INT, got, counts, at, MPI_INT, comm);
  for (int r = 0; r < p; ++r) check_block("alltoallv", got + at[r], counts[r], r, me);
  memcpy(got, mine, (size_t)end * sizeof *got);
  COLL(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_INT, got, counts, at, MPI_INT, comm);
  for (int r = 0; r < p; ++r) check_block("alltoallv in place", got + at[r], counts[r], r, me);
  for (int r = 0; r < p; ++r) {
    OK(MPI_Type_contiguous(counts[r], MPI_INT, &types[r]));
    OK(MPI_Type_commit(&types[r]));
    at[r] *= (int)sizeof(int);
    ones[r] = 1;
  }
  memset(got, 0, (size_t)longest * (size_t)p * sizeof *got);
  COLL(Alltoallw, alltoallw, mine, ones, at, types, got, ones, at, types, comm);
  for (int r = 0; r < p; ++r)
    check_block("alltoallw", got + at[r] / (int)sizeof(int), counts[r], r, me);
  for (int r = 0; r < p; ++r) OK(MPI_Type_free(&types[r]));

  for (int r = 0; r < p; ++r) counts[r] = uneven_count(r, 0, n);
  long before = 0, all = 0;
  for (int r = 0; r < p; ++r) {
    if (r == me) before = all;
    all += counts[r];
  }
  for (long i = 0; i < all; ++i) mine[i] = item(me, 0, i) % 1000;
  COLL(Reduce_scatter, reduce_scatter, mine, got, counts, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < counts[me]; i += 1 + counts[me] / 7)
    CHECK(got[i] == sum_of(p, 0, before + i), "reduce_scatter by counts: %d at %d", got[i], i);
  free(counts);
  free(at);
  free(ones);
  free(types);
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
    uneven_moves(comm, me, p, (i + 2) % p, n - 1);
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
