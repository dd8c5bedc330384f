// SPDX-License-Identifier: Apache-2.0
// Non-overtaking order: messages of one pair and tag arrive as sent, whatever their sizes (inline,
// eager, rendezvous) and modes, with receives posted before, after, and alternating with wildcards.
#include "../check.h"

enum { messages = 300, longest = 200000 };

static unsigned random_state;
static unsigned next_random(void) {
  return (random_state = random_state * 1664525u + 1013904223u) >> 8;
}

static int length_of(int i) {
  static const int lengths[] = {4, 16, 64, 500, 4096, 9000, 66000, longest};
  random_state = (unsigned)i * 7919u + 17u;
  next_random();
  return lengths[next_random() % 8];
}

static void send_all(MPI_Request* request, int** data) {
  for (int i = 0; i < messages; ++i) {
    const int bytes = length_of(i);
    data[i] = alloc(bytes);
    fill(data[i], bytes, i);
    data[i][0] = i;
    if (i % 5 == 3) {
      OK(MPI_Issend(data[i], bytes, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &request[i]));
    } else {
      OK(MPI_Isend(data[i], bytes, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &request[i]));
    }
  }
}

static void verify(int i, int* in, const MPI_Status* status) {
  STATUS(status, left_of(rank), 1, length_of(i));
  if (in[0] != i) DIE("message %d arrived as number %d: overtaken", in[0], i);
  fill(in, 4, i);
  FILLED(in, length_of(i), i);
}

static void late(void) {
  MPI_Request request[messages];
  int *data[messages], *in = alloc(longest);
  MPI_Status status;
  send_all(request, data);
  for (int i = 0; i < messages; ++i) {
    const int source = i % 3 ? left_of(rank) : MPI_ANY_SOURCE, tag = i % 4 ? 1 : MPI_ANY_TAG;
    OK(MPI_Recv(in, longest, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
    verify(i, in, &status);
  }
  OK(MPI_Waitall(messages, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < messages; ++i) free(data[i]);
  free(in);
}

static void early(int posted_before) {
  MPI_Request request[messages], received[messages];
  MPI_Status status[messages];
  int *data[messages], *in[messages];
  for (int i = 0; i < messages; ++i) in[i] = alloc(length_of(i));
  for (int i = 0; i < posted_before; ++i) {
    const int source = i % 3 ? left_of(rank) : MPI_ANY_SOURCE, tag = i % 4 ? 1 : MPI_ANY_TAG;
    OK(MPI_Irecv(in[i], length_of(i), MPI_BYTE, source, tag, MPI_COMM_WORLD, &received[i]));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  send_all(request, data);
  for (int i = posted_before; i < messages; ++i) {
    OK(MPI_Irecv(in[i], length_of(i), MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &received[i]));
  }
  OK(MPI_Waitall(messages, received, status));
  OK(MPI_Waitall(messages, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < messages; ++i) {
    verify(i, in[i], &status[i]);
    free(in[i]);
    free(data[i]);
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  late();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  early(messages);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  early(messages / 2);
  return finish();
}
