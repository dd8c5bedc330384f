/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives cost. One row per collective; bytes are those of one rank's vector (bcast,
   reduce, allreduce, scan) or of one block. The root of an operation is the one after the last, so
   that no rank runs ahead of the others for long. Sums are of doubles, whole numbers, exact in any
   order. */
#include "../rows.h"

static int next_root(const struct bench* b) {
  return (int)(b->stamp % (uint64_t)b->size);
}

/* This rank's vector, new in every line: one number everywhere, so that sums are easy to check. */
static double* fill(struct bench* b, long blocks) {
  double* mine = (double*)b->data[0];
  const double value = (double)(++b->stamp % 1024) + b->rank;
  if (b->untouched) return mine;
  for (long i = 0; i < blocks * b->count; i += line_words) mine[i] = value;
  for (long i = 1; i <= blocks; ++i) mine[i * b->count - 1] = value;
  return mine;
}

static double value_of(const struct bench* b, int rank) {
  return (double)(b->stamp % 1024) + rank;
}
static double sum_to(const struct bench* b, int ranks) {
  return ranks * value_of(b, 0) + ranks * (ranks - 1) / 2.0;
}

/* Every line of a block, as a program would: what a collective leaves in another core's cache has
   yet to come. */
static void expect(struct bench* b, const double* block, double value) {
  if (b->untouched) return;
  long wrong = block[b->count - 1] != value;
  for (long i = 0; i < b->count; i += line_words) wrong += block[i] != value;
  b->errors += wrong;
}

static void barrier(struct bench* b) {
  (void)b;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(struct bench* b) {
  double* mine = fill(b, 1);
  const int root = next_root(b);
  MPI_Bcast(mine, b->count, MPI_DOUBLE, root, MPI_COMM_WORLD);
  expect(b, mine, value_of(b, root));
}
static void reduce(struct bench* b) {
  const double* mine = fill(b, 1);
  const int root = next_root(b);
  MPI_Reduce(mine, b->result, b->count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  if (b->rank == root) expect(b, b->result, sum_to(b, b->size));
}
static void allreduce(struct bench* b) {
  MPI_Allreduce(fill(b, 1), b->result, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect(b, b->result, sum_to(b, b->size));
}
/* What a library finds out, makes and forgets for each communicator. */
static void new_comm(struct bench* b) {
  MPI_Comm fresh;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  MPI_Allreduce(fill(b, 1), b->result, b->count, MPI_DOUBLE, MPI_SUM, fresh);
  expect(b, b->result, sum_to(b, b->size));
  MPI_Comm_free(&fresh);
}
static void scan(struct bench* b) {
  MPI_Scan(fill(b, 1), b->result, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  expect(b, b->result, sum_to(b, b->rank + 1));
}
static void gather(struct bench* b) {
  const double* mine = fill(b, 1);
  const int root = next_root(b);
  MPI_Gather(mine, b->count, MPI_DOUBLE, b->result, b->count, MPI_DOUBLE, root, MPI_COMM_WORLD);
  for (int i = 0; i < b->size && b->rank == root; ++i)
    expect(b, b->result + (long)i * b->count, value_of(b, i));
}
static void scatter(struct bench* b) {
  const double* mine = fill(b, b->size);
  const int root = next_root(b);
  MPI_Scatter(mine, b->count, MPI_DOUBLE, b->result, b->count, MPI_DOUBLE, root, MPI_COMM_WORLD);
  expect(b, b->result, value_of(b, root));
}
static void allgather(struct bench* b) {
  MPI_Allgather(fill(b, 1), b->count, MPI_DOUBLE, b->result, b->count, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < b->size; ++i) expect(b, b->result + (long)i * b->count, value_of(b, i));
}
static void alltoall(struct bench* b) {
  MPI_Alltoall(fill(b, b->size), b->count, MPI_DOUBLE, b->result, b->count, MPI_DOUBLE,
               MPI_COMM_WORLD);
  for (int i = 0; i < b->size; ++i) expect(b, b->result + (long)i * b->count, value_of(b, i));
}
static void reduce_scatter(struct bench* b) {
  MPI_Reduce_scatter_block(fill(b, b->size), b->result, b->count, MPI_DOUBLE, MPI_SUM,
                           MPI_COMM_WORLD);
  expect(b, b->result, sum_to(b, b->size));
}

#define VECTOR \
  { 8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20 }
#define BLOCK \
  { 8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20 }
static const struct row rows[] = {
    {"barrier", barrier, 0, 1, 1, 8, 0, {8}},
    {"bcast", bcast, 0, 1, 1, 8, 0, VECTOR},
    {"reduce", reduce, 0, 1, 1, 8, 0, VECTOR},
    {"allreduce", allreduce, 0, 1, 1, 8, 0, VECTOR},
    {"new_comm", new_comm, 0, 1, 1, 8, 0, {8, 4096, 262144}},
    {"scan", scan, 0, 1, 1, 8, 0, VECTOR},
    {"gather", gather, 0, 1, 1, 8, 1, BLOCK},
    {"scatter", scatter, 0, 1, 1, 8, 1, BLOCK},
    {"allgather", allgather, 0, 1, 1, 8, 1, BLOCK},
    {"alltoall", alltoall, 0, 1, 1, 8, 1, BLOCK},
    {"reduce_scatter", reduce_scatter, 0, 1, 1, 8, 1, BLOCK},
};

int main(int argc, char** argv) {
  return run_rows(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
