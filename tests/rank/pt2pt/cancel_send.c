// SPDX-License-Identifier: Apache-2.0
// Cancel of sends (MPI-5.0 §3.8.4): the wait for a cancelled send returns whatever the receiver
// does; a message is received or cancelled, never both and never neither; a cancelled one is not
// seen by probes.
#include "../check.h"

enum { large = 300000, rounds = 100 };

static unsigned char *out, *in;

static int wait_cancelled(MPI_Request* request) {
  MPI_Status status;
  int cancelled = -1;
  OK(MPI_Wait(request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  return cancelled;
}

// Nobody receives. A synchronous send and one too large for any buffer must be cancelled: without a
// receive they cannot complete.
static void nobody_receives(void) {
  MPI_Request request;
  int flag = -1, token = rank;
  OK(MPI_Issend(&token, 1, MPI_INT, right_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  EQ(wait_cancelled(&request), 1);
  CHECK(request == MPI_REQUEST_NULL, "the request is not null after the wait");
  OK(MPI_Isend(out, large, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  if (!wait_cancelled(&request))  // a library may hold it, but then it is received
    OK(MPI_Recv(in, large, MPI_BYTE, left_of(rank), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  EQ(flag, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// More of them than any sender's table holds, sent again afterwards: nothing is lost or mixed up.
static void many(void) {
  enum { n = 700 };
  static MPI_Request request[n];
  int token = -1;
  for (int i = 0; i < n; ++i)
    OK(MPI_Issend(&rank, 1, MPI_INT, right_of(rank), 2, MPI_COMM_WORLD, &request[i]));
  for (int i = n - 1; i >= 0; --i) {
    OK(MPI_Cancel(&request[i]));
    EQ(wait_cancelled(&request[i]), 1);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));  // no receive before all are cancelled
  OK(MPI_Isend(&rank, 1, MPI_INT, right_of(rank), 2, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Recv(&token, 1, MPI_INT, left_of(rank), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(token, left_of(rank));
  OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
}

// The receive is under way when the cancel comes: the sender tells what came of it.
static void race(void) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Request request, receive, told;
    MPI_Message message = MPI_MESSAGE_NULL;
    int cancelled, was_cancelled = -1, matched = 0;
    fill(out, large, i);
    OK(MPI_Isend(out, large, MPI_BYTE, right_of(rank), 3, MPI_COMM_WORLD, &request));
    if (i % 3 == 0) {
      OK(MPI_Irecv(in, large, MPI_BYTE, left_of(rank), 3, MPI_COMM_WORLD, &receive));
    } else if (i % 3 == 1) {
      OK(MPI_Improbe(left_of(rank), 3, MPI_COMM_WORLD, &matched, &message, MPI_STATUS_IGNORE));
      if (matched) OK(MPI_Imrecv(in, large, MPI_BYTE, &message, &receive));
    }
    OK(MPI_Cancel(&request));
    int flag = 0;
    MPI_Status status;
    cancelled = 0;
    OK(MPI_Test(&request, &flag, &status));  // a cancelled send is complete at once
    if (flag) OK(MPI_Test_cancelled(&status, &cancelled));
    OK(MPI_Isend(&cancelled, 1, MPI_INT, right_of(rank), 4, MPI_COMM_WORLD, &told));
    OK(MPI_Recv(&was_cancelled, 1, MPI_INT, left_of(rank), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (i % 3 != 0 && !matched && !was_cancelled)
      OK(MPI_Irecv(in, large, MPI_BYTE, left_of(rank), 3, MPI_COMM_WORLD, &receive));
    if (was_cancelled && i % 3 == 0) {
      OK(MPI_Cancel(&receive));
      EQ(wait_cancelled(&receive), 1);
    } else if (!was_cancelled) {
      OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
      FILLED(in, large, i);
    } else {
      EQ(matched, 0);
    }
    if (!flag) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&told, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

static void persistent(void) {
  MPI_Request request;
  int token = -1;
  OK(MPI_Ssend_init(&rank, 1, MPI_INT, right_of(rank), 5, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  OK(MPI_Cancel(&request));
  EQ(wait_cancelled(&request), 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Start(&request));
  OK(MPI_Recv(&token, 1, MPI_INT, left_of(rank), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(token, left_of(rank));
  EQ(wait_cancelled(&request), 0);
  OK(MPI_Request_free(&request));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  out = alloc(large);
  in = alloc(large);
  fill(out, large, rank);
  nobody_receives();
  many();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  race();
  persistent();
  free(out);
  free(in);
  return finish();
}
