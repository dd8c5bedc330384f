// SPDX-License-Identifier: Apache-2.0
// A message longer than the receive buffer: MPI_ERR_TRUNCATE at the receiver, nothing written past
// the end, the sender sees nothing, and the next message is unharmed. Small and large, early and
// late, wait forms.
#include "../check.h"

static int class_of(int code) {
  int class = -1;
  OK(MPI_Error_class(code, &class));
  return class;
}

static void one(int bytes, int room, int early, int synchronous) {
  unsigned char *out = alloc(bytes), *in = alloc(room + 64);
  MPI_Request sent, request;
  MPI_Status status;
  int code;
  fill(out, bytes, bytes);
  memset(in, 0xcd, room + 64);
  if (early) OK(MPI_Irecv(in, room, MPI_BYTE, left_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (synchronous) {
    OK(MPI_Issend(out, bytes, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &sent));
  } else {
    OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &sent));
  }
  if (early) {
    code = MPI_Wait(&request, &status);
  } else {
    code = MPI_Recv(in, room, MPI_BYTE, left_of(rank), 1, MPI_COMM_WORLD, &status);
  }
  CHECK(class_of(code) == MPI_ERR_TRUNCATE,
        "%d bytes into %d: '%s', expected class MPI_ERR_TRUNCATE", bytes, room, error_text_(code));
  EQ(status.MPI_SOURCE, left_of(rank));
  EQ(status.MPI_TAG, 1);
  for (int i = 0; i < 64; ++i) {
    if (in[room + i] != 0xcd)
      DIE("%d bytes into %d: byte %d past the end was written", bytes, room, i);
  }
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  int next_in = -1, next_out = bytes;
  OK(MPI_Sendrecv(&next_out, 1, MPI_INT, right_of(rank), 1, &next_in, 1, MPI_INT, left_of(rank), 1,
                  MPI_COMM_WORLD, &status));
  EQ(next_in, bytes);
  free(out);
  free(in);
}

// Among several requests the others complete; the statuses say which one failed.
static void in_waitall(void) {
  int out[4] = {1, 2, 3, 4}, in[3][4];
  MPI_Request request[6];
  MPI_Status status[6];
  memset(in, 0, sizeof in);
  OK(MPI_Irecv(in[0], 4, MPI_INT, left_of(rank), 10, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Irecv(in[1], 2, MPI_INT, left_of(rank), 11, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Irecv(in[2], 4, MPI_INT, left_of(rank), 12, MPI_COMM_WORLD, &request[2]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i)
    OK(MPI_Isend(out, 4, MPI_INT, right_of(rank), 10 + i, MPI_COMM_WORLD, &request[3 + i]));
  int code = MPI_Waitall(6, request, status);
  EQ(class_of(code), MPI_ERR_IN_STATUS);
  // Requests still pending are completed now: the standard lets Waitall return early on an error.
  for (int i = 0; i < 6; ++i) {
    if (i == 1) {
      EQ(class_of(status[1].MPI_ERROR), MPI_ERR_TRUNCATE);
    } else if (status[i].MPI_ERROR == MPI_ERR_PENDING) {
      OK(MPI_Wait(&request[i], &status[i]));
    } else {
      EQ(status[i].MPI_ERROR, MPI_SUCCESS);
    }
  }
  for (int i = 0; i < 4; ++i) {
    EQ(in[0][i], i + 1);
    EQ(in[2][i], i + 1);
  }
  EQ(in[1][2], 0);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  static const int cases[][2] = {{1, 0},         {9, 8},         {64, 63},
                                 {5000, 10},     {5000, 4999},   {70000, 0},
                                 {70000, 69999}, {3000000, 100}, {3000000, 2999999}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int how = 0; how < 4; ++how) one(cases[i][0], cases[i][1], how & 1, how >> 1);
  }
  in_waitall();
  return finish();
}
