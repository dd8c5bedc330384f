// SPDX-License-Identifier: Apache-2.0
// Every _c form of point-to-point does what its int form does: each send against each receive,
// blocking, nonblocking, persistent, matched, both ways at once, buffered.
#include "../check.h"

enum { many = 300, sends = 12, receives = 5 };
static int out[many], in[many];

// Begins send number k to `to`, or does it.
static void send(int k, int to, int tag, MPI_Request* request) {
  MPI_Comm comm = MPI_COMM_WORLD;
  *request = MPI_REQUEST_NULL;
  switch (k) {
    case 0:
      OK(MPI_Isend_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 1:
      OK(MPI_Issend_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 2:
      OK(MPI_Ibsend_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 3:
      OK(MPI_Irsend_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 4:
      OK(MPI_Send_init_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 5:
      OK(MPI_Ssend_init_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 6:
      OK(MPI_Bsend_init_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 7:
      OK(MPI_Rsend_init_c(out, many, MPI_INT, to, tag, comm, request));
      break;
    case 8:
      OK(MPI_Send_c(out, many, MPI_INT, to, tag, comm));
      break;
    case 9:
      OK(MPI_Ssend_c(out, many, MPI_INT, to, tag, comm));
      break;
    case 10:
      OK(MPI_Bsend_c(out, many, MPI_INT, to, tag, comm));
      break;
    default:
      OK(MPI_Rsend_c(out, many, MPI_INT, to, tag, comm));
  }
  if (k >= 4 && k < 8) OK(MPI_Start(request));
}

// The receive was posted before any send, so that ready and blocking sends are right.
static void pair(int k) {
  MPI_Request receive, sent;
  MPI_Status status;
  OK(MPI_Irecv_c(in, many, MPI_INT, left_of(rank), k, MPI_COMM_WORLD, &receive));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  send(k, right_of(rank), k, &sent);
  OK(MPI_Wait(&receive, &status));
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  if (sent != MPI_REQUEST_NULL) OK(MPI_Request_free(&sent));
  STATUS(&status, left_of(rank), k, sizeof in);
}

static void receive(int k) {
  MPI_Request sent, request;
  MPI_Message message;
  MPI_Status status;
  const int from = left_of(rank), tag = 50 + k;
  OK(MPI_Isend_c(out, many, MPI_INT, right_of(rank), tag, MPI_COMM_WORLD, &sent));
  if (k == 0) {
    OK(MPI_Recv_c(in, many, MPI_INT, from, tag, MPI_COMM_WORLD, &status));
  } else if (k == 1) {
    OK(MPI_Recv_init_c(in, many, MPI_INT, from, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Request_free(&request));
  } else if (k == 2) {
    OK(MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv_c(in, many, MPI_INT, &message, &status));
  } else if (k == 3) {
    OK(MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Imrecv_c(in, many, MPI_INT, &message, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_Irecv_c(in, many, MPI_INT, from, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
  }
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  STATUS(&status, from, tag, sizeof in);
}

static void both_ways(int k) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  const int to = right_of(rank), from = left_of(rank);
  MPI_Comm comm = MPI_COMM_WORLD;
  if (k % 2) memcpy(in, out, sizeof in);
  if (k == 0) {
    OK(MPI_Sendrecv_c(out, many, MPI_INT, to, 1, in, many, MPI_INT, from, 1, comm, &status));
  } else if (k == 1) {
    OK(MPI_Sendrecv_replace_c(in, many, MPI_INT, to, 1, from, 1, comm, &status));
  } else if (k == 2) {
    OK(MPI_Isendrecv_c(out, many, MPI_INT, to, 1, in, many, MPI_INT, from, 1, comm, &request));
  } else {
    OK(MPI_Isendrecv_replace_c(in, many, MPI_INT, to, 1, from, 1, comm, &request));
  }
  if (k >= 2) OK(MPI_Wait(&request, &status));
  STATUS(&status, from, 1, sizeof in);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const MPI_Count room = 4 * (sizeof out + MPI_BSEND_OVERHEAD);
  char* buffer = alloc((size_t)room);
  void* back = NULL;
  MPI_Count bytes = 0;
  OK(MPI_Buffer_attach_c(buffer, room));
  for (int k = 0; k < sends + receives + 4; ++k) {
    fill(out, sizeof out, rank * 50 + k);
    memset(in, 0, sizeof in);
    if (k < sends)
      pair(k);
    else if (k < sends + receives)
      receive(k - sends);
    else
      both_ways(k - sends - receives);
    FILLED(in, sizeof in, left_of(rank) * 50 + k);
  }
  OK(MPI_Buffer_detach_c(&back, &bytes));
  EQ(bytes, room);
  CHECK(back == buffer, "detached %p, attached %p", back, (void*)buffer);
  free(buffer);
  return finish();
}
