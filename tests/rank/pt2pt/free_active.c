// SPDX-License-Identifier: Apache-2.0
// Request_free of an active request: the communication still completes.
#include "../check.h"

static void sends(int bytes) {
  unsigned char *out = alloc(bytes), *in = alloc(bytes);
  MPI_Request request;
  int token = 0;
  fill(out, bytes, rank);
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL, "Request_free left the handle as it was");
  OK(MPI_Recv(in, bytes, MPI_BYTE, left_of(rank), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  FILLED(in, bytes, left_of(rank));
  // The receiver's token says that the buffer may go.
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, left_of(rank), 2, &token, 1, MPI_INT, right_of(rank), 2,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(token, right_of(rank));
  free(out);
  free(in);
}

static void receives(int bytes) {
  unsigned char *out = alloc(bytes), *in = alloc(bytes);
  volatile unsigned char* last = in + bytes - 1;
  MPI_Request request;
  int flag;
  memset(in, 0, bytes);
  fill(out, bytes, 9);
  out[bytes - 1] = 200;
  OK(MPI_Irecv(in, bytes, MPI_BYTE, left_of(rank), 3, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  OK(MPI_Send(out, bytes, MPI_BYTE, right_of(rank), 3, MPI_COMM_WORLD));
  // Any later message of the same sender and a call that progresses shows it has arrived.
  OK(MPI_Sendrecv(NULL, 0, MPI_INT, right_of(rank), 4, NULL, 0, MPI_INT, left_of(rank), 4,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  while (*last != 200) OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  FILLED(in, bytes - 1, 9);
  free(out);
  free(in);
}

// A freed persistent request finishes its last start; an inactive one just goes.
static void persistent(void) {
  int out = rank, in = -1;
  MPI_Request send, receive;
  OK(MPI_Send_init(&out, 1, MPI_INT, right_of(rank), 5, MPI_COMM_WORLD, &send));
  OK(MPI_Recv_init(&in, 1, MPI_INT, left_of(rank), 5, MPI_COMM_WORLD, &receive));
  OK(MPI_Start(&receive));
  OK(MPI_Start(&send));
  OK(MPI_Request_free(&send));
  OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  EQ(in, left_of(rank));
  OK(MPI_Request_free(&receive));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int lengths[] = {1, 100, 5000, 70000, 2000000};
  for (int i = 0; i < 5; ++i) {
    sends(lengths[i]);
    receives(lengths[i]);
  }
  for (int i = 0; i < 100; ++i) persistent();
  return finish();
}
