/* SPDX-License-Identifier: Apache-2.0 */
/* What messages cost, and the two collectives that most programs use. Rows (see rows.h):
   lat        ping-pong between two ranks, half a round trip
   bw, rate   per message in a window of 16 or 64 nonblocking sends; one short answer per window
   barrier, allreduce (sum of doubles; the bytes are those of one rank's vector) */
#include "../rows.h"

static void touch(struct bench* b, uint64_t* data) {
  if (!b->untouched) stamp_lines(data, b->bytes / 8, b->stamp);
}

static void check(struct bench* b, const uint64_t* data) {
  if (!b->untouched) b->errors += wrong_lines(data, b->bytes / 8, b->stamp);
}

/* There and back: two messages, timed as one. */
static void ping_pong(struct bench* b) {
  ++b->stamp;
  if (b->rank == 0) {
    touch(b, b->data[0]);
    MPI_Send(b->data[0], b->count, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(b->data[0], b->count, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++b->stamp;
    check(b, b->data[0]);
  } else {
    MPI_Recv(b->data[0], b->count, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(b, b->data[0]);
    ++b->stamp;
    touch(b, b->data[0]);
    MPI_Send(b->data[0], b->count, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

static void stream(struct bench* b) {
  MPI_Request requests[max_window];
  char answer = 0;
  ++b->stamp;
  if (b->rank == 0) {
    for (int i = 0; i < b->window; ++i) {
      touch(b, b->data[i]);
      MPI_Isend(b->data[i], b->count, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(b->window, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(&answer, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < b->window; ++i)
      MPI_Irecv(b->data[i], b->count, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(b->window, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < b->window; ++i) check(b, b->data[i]);
    MPI_Send(&answer, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
  }
}

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
