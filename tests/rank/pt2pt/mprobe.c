// SPDX-License-Identifier: Apache-2.0
// Matched probes: a message taken by Mprobe or Improbe belongs to its holder and is received only
// through its handle.
#include "../check.h"

enum { longest = 200000 };

static void take_and_receive(int bytes, int how) {
  const int from = left_of(rank), tag = 7;
  char *out = alloc(bytes), *in = alloc(bytes);
  MPI_Request sent, got;
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
  fill(out, bytes, bytes + how);
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), tag, MPI_COMM_WORLD, &sent));
  if (how & 1) {
    for (int flag = 0; !flag;)
      OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
  } else {
    OK(MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &status));
  }
  STATUS(&status, from, tag, bytes);
  CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC,
        "the probe gave no message handle");
  int flag = 1;
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  EQ(flag, 0);  // taken: no other probe sees it
  if (how & 2) {
    OK(MPI_Imrecv(in, bytes, MPI_BYTE, &message, &got));
    OK(MPI_Wait(&got, &status));
  } else {
    OK(MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status));
  }
  CHECK(message == MPI_MESSAGE_NULL, "the receive left the message handle as it was");
  STATUS(&status, from, tag, bytes);
  FILLED(in, bytes, bytes + how);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  free(out);
  free(in);
}

// Several messages are taken, then received in another order; a plain receive gets those not taken.
static void out_of_order(void) {
  enum { messages = 6 };
  int out[messages], in = -1;
  MPI_Request request[messages];
  MPI_Message message[messages];
  MPI_Status status;
  for (int i = 0; i < messages; ++i) {
    out[i] = rank * 100 + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, right_of(rank), 8, MPI_COMM_WORLD, &request[i]));
  }
  for (int i = 0; i < messages - 1; ++i)
    OK(MPI_Mprobe(left_of(rank), 8, MPI_COMM_WORLD, &message[i], &status));
  OK(MPI_Recv(&in, 1, MPI_INT, left_of(rank), 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(in, left_of(rank) * 100 + messages - 1);
  for (int i = messages - 2; i >= 0; --i) {
    OK(MPI_Mrecv(&in, 1, MPI_INT, &message[i], &status));
    EQ(in, left_of(rank) * 100 + i);
  }
  OK(MPI_Waitall(messages, request, MPI_STATUSES_IGNORE));
}

static void proc_null_and_truncation(void) {
  MPI_Message message;
  MPI_Status status;
  MPI_Request request;
  int flag = 0, in[2] = {-1, -1}, out[4] = {1, 2, 3, 4}, class = 0;
  OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC, "Mprobe of MPI_PROC_NULL did not give MPI_MESSAGE_NO_PROC");
  OK(MPI_Mrecv(in, 1, MPI_INT, &message, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  CHECK(message == MPI_MESSAGE_NULL, "Mrecv left MPI_MESSAGE_NO_PROC as it was");
  OK(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
  EQ(flag, 1);
  OK(MPI_Imrecv(in, 1, MPI_INT, &message, &request));
  OK(MPI_Wait(&request, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Improbe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &message, &status));
  EQ(flag, 0);
  OK(MPI_Isend(out, 4, MPI_INT, right_of(rank), 9, MPI_COMM_WORLD, &request));
  OK(MPI_Mprobe(left_of(rank), 9, MPI_COMM_WORLD, &message, &status));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int code = MPI_Mrecv(in, 1, MPI_INT, &message, &status);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Error_class(code, &class));
  EQ(class, MPI_ERR_TRUNCATE);
  EQ(in[1], -1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int lengths[] = {0, 1, 64, 3000, 70000, longest};
  for (int i = 0; i < 6; ++i) {
    for (int how = 0; how < 4; ++how) {
      take_and_receive(lengths[i], how);
      OK(MPI_Barrier(MPI_COMM_WORLD));  // so that "no other message is there" is true
    }
  }
  out_of_order();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  proc_null_and_truncation();
  return finish();
}
