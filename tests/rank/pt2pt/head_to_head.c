// SPDX-License-Identifier: Apache-2.0
// Programs the standard promises to be free of deadlock: everybody sends large messages first by
// Isend, then receives; a send completes while its receiver is in another call; a Ssend waits for
// its receive.
#include "../check.h"

enum { bytes = 4 << 20 };

static void everybody_sends_first(void) {
  char *out = alloc(bytes), *in = alloc(bytes);
  MPI_Request* request = alloc(sizeof *request * size);
  fill(out, bytes, rank);
  for (int peer = 0; peer < size; ++peer)
    OK(MPI_Isend(out, bytes - peer, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request[peer]));
  for (int peer = 0; peer < size; ++peer) {
    MPI_Status status;
    OK(MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status));
    STATUS(&status, peer, 1, bytes - rank);
    FILLED(in, bytes - rank, peer);
  }
  OK(MPI_Waitall(size, request, MPI_STATUSES_IGNORE));
  free(out);
  free(in);
  free(request);
}

// The neighbours wait in different calls of their own; the message must get through all the same.
static void receiver_elsewhere(void) {
  const int peer = rank ^ 1;
  if (peer >= size) return;
  char* data = alloc(bytes);
  MPI_Request request;
  int token = 0;
  if (rank % 2) {
    OK(MPI_Irecv(data, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request));
    // Waits for a token that comes only after the large send has completed.
    OK(MPI_Recv(&token, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(token, 17);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FILLED(data, bytes, 55);
  } else {
    fill(data, bytes, 55);
    OK(MPI_Ssend(data, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD));
    token = 17;
    OK(MPI_Send(&token, 1, MPI_INT, peer, 3, MPI_COMM_WORLD));
  }
  free(data);
}

// Issend must not complete before the receive is posted.
static void synchronous(int length) {
  const int peer = rank ^ 1;
  if (peer >= size) return;
  char* data = alloc(length);
  MPI_Request request;
  int flag = 1;
  if (rank % 2) {
    OK(MPI_Recv(NULL, 0, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(data, length, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(data, length, 3);
  } else {
    fill(data, length, 3);
    OK(MPI_Issend(data, length, MPI_BYTE, peer, 4, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 200; ++i) {
      OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      if (flag) DIE("Issend of %d bytes completed before its receive was posted", length);
    }
    ++checks;
    OK(MPI_Send(NULL, 0, MPI_INT, peer, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  free(data);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  everybody_sends_first();
  receiver_elsewhere();
  synchronous(1);
  synchronous(3000);
  synchronous(200000);
  return finish();
}
