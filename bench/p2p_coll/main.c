/* SPDX-License-Identifier: Apache-2.0 */
/* What messages cost, and the two collectives that most programs use. Rows (see rows.h):
   lat        ping-pong between two ranks, half a round trip
   bw, rate   per message in a window of 16 or 64 nonblocking sends; one short answer per window
   barrier, allreduce (sum of doubles; the bytes are those of one rank's vector) */
#include "../messages.h"

static void barrier(struct bench* b) {
  (void)b;
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Sums small whole numbers, which are exact in any order. */
static void allreduce(struct bench* b) {
  double* mine = (double*)b->data[0];
  const double value = (double)(++b->stamp % 1024);
  for (long i = 0; i < b->count && !b->untouched; i += line_words) mine[i] = value;
  if (!b->untouched) mine[b->count - 1] = value;
  MPI_Allreduce(mine, b->result, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (b->untouched) return;
  if (b->result[0] != value * b->size || b->result[b->count - 1] != value * b->size) ++b->errors;
}

static const struct row rows[] = {
    {"lat", ping_pong, 2, 1, 2, 1, 0, {8, 64, 1024, 8192, 16384, 65536, 262144, 1 << 20, 4 << 20}},
    {"rate", stream, 2, 64, 64, 1, 0, {8, 1024}},
    {"bw", stream, 2, 16, 16, 1, 0, {16384, 65536, 262144, 1 << 20, 4 << 20}},
    {"barrier", barrier, 0, 1, 1, 8, 0, {8}},
    {"allreduce", allreduce, 0, 1, 1, 8, 0, {8, 1024, 16384, 65536, 1 << 20, 4 << 20}},
};

int main(int argc, char** argv) {
  return run_rows(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
