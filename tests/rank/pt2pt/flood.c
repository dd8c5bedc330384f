// SPDX-License-Identifier: Apache-2.0
// Floods of unexpected messages: 100,000 small ones and many large ones wait while the receiver
// looks elsewhere, then all come, complete and in order.
#include "../check.h"

static void small(void) {
  enum { total = 100000 };
  const int senders = size - 1, each = total / senders;
  if (rank > 0) {
    for (int i = 0; i < each; ++i) {
      const int value[2] = {rank, i};
      OK(MPI_Send(value, 2, MPI_INT, 0, i % 7, MPI_COMM_WORLD));
    }
    OK(MPI_Send(NULL, 0, MPI_INT, 0, 1000, MPI_COMM_WORLD));
    return;
  }
  // The last message of each sender first: all others are unexpected by then.
  for (int from = 1; from < size; ++from)
    OK(MPI_Recv(NULL, 0, MPI_INT, from, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int from = 1; from < size; ++from) {
    for (int i = 0; i < each; ++i) {
      int value[2] = {-1, -1};
      MPI_Status status;
      OK(MPI_Recv(value, 2, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      if (value[0] != from || value[1] != i || status.MPI_TAG != i % 7) {
        DIE("message %d of %d carries (%d, %d), tag %d", i, from, value[0], value[1],
            status.MPI_TAG);
      }
    }
  }
}

static void large(void) {
  enum { messages = 64, bytes = 500000 };
  if (rank > 0) {
    char* data[messages];
    MPI_Request request[messages];
    for (int i = 0; i < messages; ++i) {
      data[i] = alloc(bytes);
      fill(data[i], bytes, rank + i);
      OK(MPI_Isend(data[i], bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request[i]));
    }
    OK(MPI_Send(NULL, 0, MPI_INT, 0, 1000, MPI_COMM_WORLD));
    OK(MPI_Waitall(messages, request, MPI_STATUSES_IGNORE));
    for (int i = 0; i < messages; ++i) free(data[i]);
    return;
  }
  char* in = alloc(bytes);
  for (int from = 1; from < size; ++from)
    OK(MPI_Recv(NULL, 0, MPI_INT, from, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < messages; ++i) {
    for (int from = size - 1; from > 0; --from) {
      MPI_Status status;
      OK(MPI_Recv(in, bytes, MPI_BYTE, from, 5, MPI_COMM_WORLD, &status));
      STATUS(&status, from, 5, bytes);
      FILLED(in, bytes, from + i);
    }
  }
  free(in);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (size > 1) {
    small();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    large();
  }
  return finish();
}
