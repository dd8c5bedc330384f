// SPDX-License-Identifier: Apache-2.0
// Cancel of sends (MPI-5.0 §3.8.4): the wait for a cancelled send returns without a receive; a
// message is received or cancelled, never both and never neither; a cancelled one is not seen by
// probes. Of all sizes, so by all protocols.
#include <unistd.h>

#include "../check.h"

enum { one_piece = 8192, large = 300000, most = 1 << 20, rounds = 60 };
static const int sizes[] = {1, one_piece, 40 << 10, 256 << 10, large, most};
enum { all_sizes = sizeof sizes / sizeof *sizes };

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
  do OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  while (is_apart(right_of(rank)) && !flag);
  EQ(flag, 1);  // at once
  CHECK(request == MPI_REQUEST_NULL, "the request is not null after the test");
  OK(MPI_Isend(out, large, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  EQ(wait_cancelled(&request), 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  EQ(flag, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Of two messages the first or the second is cancelled; nobody receives before. Only what is one
// piece may stay, and is received then.
static void one_of_two(int bytes, int which) {
  MPI_Request request[2];
  fill(out, (size_t)bytes, 0);
  fill(out + most, (size_t)bytes, 1);
  for (int i = 0; i < 2; ++i)
    OK(MPI_Isend(out + i * most, bytes, MPI_BYTE, right_of(rank), 6, MPI_COMM_WORLD, &request[i]));
  OK(MPI_Cancel(&request[which]));
  const int cancelled = wait_cancelled(&request[which]);
  if (bytes > one_piece) EQ(cancelled, 1);
  int left = cancelled;
  OK(MPI_Sendrecv(&cancelled, 1, MPI_INT, right_of(rank), 7, &left, 1, MPI_INT, left_of(rank), 7,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; ++i) {
    if (i == which && left) continue;
    memset(in, 0, (size_t)bytes);
    OK(MPI_Recv(in, bytes, MPI_BYTE, left_of(rank), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, (size_t)bytes, (unsigned)i);
  }
  EQ(wait_cancelled(&request[1 - which]), 0);
}

// What a matched probe has taken is not cancelled.
static void probed(int bytes) {
  MPI_Request sent, received;
  MPI_Message message;
  fill(out, (size_t)bytes, 3);
  memset(in, 0, (size_t)bytes);
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 8, MPI_COMM_WORLD, &sent));
  OK(MPI_Mprobe(left_of(rank), 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Cancel(&sent));
  OK(MPI_Imrecv(in, bytes, MPI_BYTE, &message, &received));
  EQ(wait_cancelled(&sent), 0);
  OK(MPI_Wait(&received, MPI_STATUS_IGNORE));
  FILLED(in, (size_t)bytes, 3);
}

// The requests are given up before their cancel is decided: the communicator ends all the same.
static void freed(void) {
  MPI_Request request;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int i = 0; i < all_sizes; ++i) {
    if (sizes[i] <= one_piece) continue;
    OK(MPI_Isend(out, sizes[i], MPI_BYTE, right_of(rank), 1, comm, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Request_free(&request));
  }
  OK(MPI_Comm_disconnect(&comm));
}

// A buffered send that nobody receives.
static void buffered(int bytes) {
  MPI_Request request;
  OK(MPI_Ibsend(out, bytes, MPI_BYTE, right_of(rank), 11, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  EQ(wait_cancelled(&request), 1);
  OK(MPI_Ibsend(out, bytes, MPI_BYTE, right_of(rank), 11, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Request_free(&request));
  OK(MPI_Buffer_flush());
  OK(MPI_Ibsend(out, bytes, MPI_BYTE, right_of(rank), 12, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  OK(MPI_Recv(in, bytes, MPI_BYTE, left_of(rank), 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

// Completed together with others, one of which is received.
static void among_others(int bytes) {
  MPI_Request request[3];
  MPI_Status status[3];
  int done = 0, cancelled = -1;
  OK(MPI_Irecv(in, bytes, MPI_BYTE, left_of(rank), 9, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 9, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 10, MPI_COMM_WORLD, &request[2]));
  OK(MPI_Cancel(&request[2]));
  while (!done) OK(MPI_Testall(3, request, &done, status));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Test_cancelled(&status[i], &cancelled));
    EQ(cancelled, i == 2);
  }
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
static void race(int bytes) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Request request, receive, told;
    MPI_Message message = MPI_MESSAGE_NULL;
    int was_cancelled = -1, matched = 0;
    fill(out, (size_t)bytes, (unsigned)i);
    OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 3, MPI_COMM_WORLD, &request));
    if (i % 3 == 0) {
      OK(MPI_Irecv(in, bytes, MPI_BYTE, left_of(rank), 3, MPI_COMM_WORLD, &receive));
    } else if (i % 3 == 1) {
      OK(MPI_Improbe(left_of(rank), 3, MPI_COMM_WORLD, &matched, &message, MPI_STATUS_IGNORE));
      if (matched) OK(MPI_Imrecv(in, bytes, MPI_BYTE, &message, &receive));
    }
    OK(MPI_Cancel(&request));
    const int cancelled = wait_cancelled(&request);
    OK(MPI_Isend(&cancelled, 1, MPI_INT, right_of(rank), 4, MPI_COMM_WORLD, &told));
    OK(MPI_Recv(&was_cancelled, 1, MPI_INT, left_of(rank), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (i % 3 != 0 && !matched && !was_cancelled)
      OK(MPI_Irecv(in, bytes, MPI_BYTE, left_of(rank), 3, MPI_COMM_WORLD, &receive));
    if (was_cancelled && i % 3 == 0) {
      OK(MPI_Cancel(&receive));
      EQ(wait_cancelled(&receive), 1);
    } else if (!was_cancelled) {
      OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
      FILLED(in, (size_t)bytes, (unsigned)i);
    } else {
      EQ(matched, 0);
    }
    OK(MPI_Wait(&told, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

static void persistent(int (*init)(const void*, int, MPI_Datatype, int, int, MPI_Comm,
                                   MPI_Request*),
                       int bytes) {
  MPI_Request request;
  fill(out, (size_t)bytes, 5);
  OK(init(out, bytes, MPI_BYTE, right_of(rank), 5, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Start(&request));
    OK(MPI_Cancel(&request));
    EQ(wait_cancelled(&request), 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    memset(in, 0, (size_t)bytes);
    OK(MPI_Start(&request));
    OK(MPI_Recv(in, bytes, MPI_BYTE, left_of(rank), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, (size_t)bytes, 5);
    EQ(wait_cancelled(&request), 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Request_free(&request));
}

// MPI_Finalize waits for a receiver that has not heard of the cancel, long enough to be noted.
static void heard_late(void) {
  MPI_Request request;
  OK(MPI_Issend(&rank, 1, MPI_INT, right_of(rank), 13, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  EQ(wait_cancelled(&request), 1);
  if (rank == 0) usleep(100000);
}

int main(int argc, char** argv) {
  void* buffer = NULL;
  int attached = 0;
  start(&argc, &argv);
  out = alloc(2 * most);
  in = alloc(most);
  fill(out, most, (unsigned)rank);
  nobody_receives();
  many();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  persistent(MPI_Ssend_init, 1);
  for (int i = 0; i < all_sizes; ++i) {
    one_of_two(sizes[i], 0);
    one_of_two(sizes[i], 1);
    probed(sizes[i]);
    race(sizes[i]);
    if (sizes[i] > one_piece) {
      among_others(sizes[i]);
      persistent(MPI_Send_init, sizes[i]);
      persistent(MPI_Bsend_init, sizes[i]);
      buffered(sizes[i]);
    }
  }
  freed();
  OK(MPI_Buffer_detach(&buffer, &attached));
  free(out);
  free(in);
  heard_late();
  return finish();
}
