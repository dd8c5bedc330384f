// SPDX-License-Identifier: Apache-2.0
// Large messages whose ranks do other things while they cross: a sender that computes, or asks once
// and then computes; a receiver that only tests or probes; rows of sends; both ways at once;
// layouts with gaps on either side.
#include "../check.h"

enum { most = 1200000, in_row = 6, ways = 6 };
static const int sizes[] = {33000, 70001, 300000, most};

static unsigned char *out, *in;

static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) continue;
}

static void wait_by_tests(MPI_Request* request, MPI_Status* status) {
  for (int flag = 0; !flag;) OK(MPI_Test(request, &flag, status));
}

static void send_one(int way, int bytes, int tag) {
  MPI_Request request;
  int flag = 0;
  fill(out, bytes, tag);
  if (way == 0) {
    OK(MPI_Send(out, bytes, MPI_BYTE, right_of(rank), tag, MPI_COMM_WORLD));
    return;
  }
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), tag, MPI_COMM_WORLD, &request));
  if (way == 1) compute(300e-6);
  if (way == 2) {
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    compute(100e-6);
  }
  if (way == 3)
    wait_by_tests(&request, MPI_STATUS_IGNORE);
  else
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void receive_one(int way, int bytes, int tag) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  memset(in, 0, bytes);
  if (way == 2) {
    while (!flag) OK(MPI_Iprobe(left_of(rank), tag, MPI_COMM_WORLD, &flag, &status));
  }
  if (way == 3) {
    OK(MPI_Irecv(in, bytes, MPI_BYTE, left_of(rank), tag, MPI_COMM_WORLD, &request));
    wait_by_tests(&request, &status);
  } else {
    OK(MPI_Recv(in, bytes, MPI_BYTE, left_of(rank), tag, MPI_COMM_WORLD, &status));
  }
  STATUS(&status, left_of(rank), tag, bytes);
  FILLED(in, bytes, tag);
}

// Ranks in pairs: each way of sending with each of receiving.
static void one_way(int bytes) {
  for (int i = 0; i < ways * ways; ++i) {
    if (rank % 2 == 0) {
      if (rank + 1 < size) send_one(i % ways, bytes, i);
    } else {
      receive_one(i / ways, bytes, i);
    }
  }
}

// A row of sends on both sides before anybody waits, in a ring.
static void rows(int bytes) {
  MPI_Request request[2 * in_row];
  unsigned char *from = alloc((size_t)in_row * bytes), *to = alloc((size_t)in_row * bytes);
  for (int i = 0; i < in_row; ++i)
    OK(MPI_Irecv(to + (size_t)i * bytes, bytes, MPI_BYTE, left_of(rank), i, MPI_COMM_WORLD,
                 &request[i]));
  for (int i = 0; i < in_row; ++i) {
    fill(from + (size_t)i * bytes, bytes, rank + i);
    OK(MPI_Isend(from + (size_t)i * bytes, bytes, MPI_BYTE, right_of(rank), i, MPI_COMM_WORLD,
                 &request[in_row + i]));
  }
  OK(MPI_Waitall(2 * in_row, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < in_row; ++i) FILLED(to + (size_t)i * bytes, bytes, left_of(rank) + i);
  free(from);
  free(to);
}

// Four of five bytes: `side` 0, of the sender; 1, of the receiver; 2, of both.
static void layouts(int bytes, int side) {
  MPI_Datatype type;
  MPI_Request request[2];
  const int blocks = bytes / 5;
  OK(MPI_Type_vector(blocks, 4, 5, MPI_BYTE, &type));
  OK(MPI_Type_commit(&type));
  fill(out, bytes, rank);
  memset(in, 0, bytes);
  OK(MPI_Irecv(in, side == 0 ? 4 * blocks : 1, side == 0 ? MPI_BYTE : type, left_of(rank), 1,
               MPI_COMM_WORLD, &request[0]));
  OK(MPI_Isend(out, side == 1 ? 4 * blocks : 1, side == 1 ? MPI_BYTE : type, right_of(rank), 1,
               MPI_COMM_WORLD, &request[1]));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  fill(out, bytes, left_of(rank));
  for (int i = 0; i < 4 * blocks; ++i) {
    const int gap = i / 4 * 5 + i % 4;
    EQ(in[side == 0 ? i : gap], out[side == 1 ? i : gap]);
  }
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  out = alloc(most);
  in = alloc(most);
  for (int s = 0; s < 4; ++s) {
    one_way(sizes[s]);
    rows(sizes[s]);
    for (int side = 0; side < 3; ++side) layouts(sizes[s], side);
  }
  free(out);
  free(in);
  return finish();
}
