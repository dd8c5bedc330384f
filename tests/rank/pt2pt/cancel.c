// SPDX-License-Identifier: Apache-2.0
// Cancel of receives: a cancelled one takes no message, one that is matched cannot be cancelled,
// persistent ones restart.
#include "../check.h"

static void never_sent(void) {
  enum { posted = 10 };
  char in[posted];
  MPI_Request request[posted];
  MPI_Status status;
  int cancelled = 0;
  memset(in, 5, sizeof in);
  for (int i = 0; i < posted; ++i)
    OK(MPI_Irecv(&in[i], 1, MPI_BYTE, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &request[i]));
  for (int i = posted - 1; i >= 0; --i) {
    OK(MPI_Cancel(&request[i]));
    OK(MPI_Wait(&request[i], &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    EQ(cancelled, 1);
    CHECK(request[i] == MPI_REQUEST_NULL, "request %d is not null after the wait", i);
  }
}

// The cancelled receive in front does not get the message: the one behind it does.
static void order_behind(void) {
  int first = -1, second = -1, out = rank, cancelled = 0;
  MPI_Request request[2], sent;
  MPI_Status status[2];
  OK(MPI_Irecv(&first, 1, MPI_INT, left_of(rank), 20, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Irecv(&second, 1, MPI_INT, left_of(rank), 20, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Cancel(&request[0]));
  OK(MPI_Wait(&request[0], &status[0]));
  OK(MPI_Test_cancelled(&status[0], &cancelled));
  EQ(cancelled, 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Isend(&out, 1, MPI_INT, right_of(rank), 20, MPI_COMM_WORLD, &sent));
  OK(MPI_Wait(&request[1], &status[1]));
  OK(MPI_Test_cancelled(&status[1], &cancelled));
  EQ(cancelled, 0);
  EQ(first, -1);
  EQ(second, left_of(rank));
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

// Either the cancel or the message wins, never both and never neither.
static void race(void) {
  enum { rounds = 200 };
  for (int i = 0; i < rounds; ++i) {
    int in = -1, out = i, cancelled = -1;
    MPI_Request request, sent;
    MPI_Status status;
    OK(MPI_Irecv(&in, 1, MPI_INT, left_of(rank), 30, MPI_COMM_WORLD, &request));
    OK(MPI_Isend(&out, 1, MPI_INT, right_of(rank), 30, MPI_COMM_WORLD, &sent));
    if (i % 3) {
      int flag;
      OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    if (cancelled) {
      EQ(in, -1);
      OK(MPI_Recv(&in, 1, MPI_INT, left_of(rank), 30, MPI_COMM_WORLD, &status));
    }
    EQ(in, i);
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  }
}

static void persistent(void) {
  int in = -1, out = 42, cancelled = 0;
  MPI_Request request, sent;
  MPI_Status status;
  OK(MPI_Recv_init(&in, 1, MPI_INT, left_of(rank), 40, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  EQ(cancelled, 1);
  OK(MPI_Start(&request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Isend(&out, 1, MPI_INT, right_of(rank), 40, MPI_COMM_WORLD, &sent));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  EQ(cancelled, 0);
  EQ(in, 42);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  never_sent();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  order_behind();
  race();
  persistent();
  return finish();
}
