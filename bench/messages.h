/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between two ranks, as operations of rows.h. */
#ifndef WEFT_BENCH_MESSAGES_H
#define WEFT_BENCH_MESSAGES_H

#include "rows.h"

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

#endif
