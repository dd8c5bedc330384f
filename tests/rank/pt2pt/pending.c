// SPDX-License-Identifier: Apache-2.0
// Any number of sends may be pending (MPI-5.0 §3.5, §3.7): how many decides neither whether later
// messages get through nor whether the program ends.
#include "../check.h"

enum { messages = 6000, few = 1500, large = 300000, middle = 40000, other = messages + 1 };

static MPI_Request requests[messages];
static unsigned char *out, *in;

static void wait_all(int count) {
  OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

static void to_itself(void) {
  for (int i = 0; i < few; ++i)
    OK(MPI_Isend(out + i, middle, MPI_BYTE, rank, i, MPI_COMM_WORLD, &requests[i]));
  for (int i = few; i-- > 0;) {
    OK(MPI_Recv(in, middle, MPI_BYTE, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(memcmp(in, out + i, middle), 0);
  }
  wait_all(few);
}

// The last is received first: of a named source, of any, and with probes. `send` begins them.
static void backwards(int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*),
                      int bytes, int source) {
  for (int i = 0; i < messages; ++i)
    OK(send(out + i, bytes, MPI_BYTE, right_of(rank), i, MPI_COMM_WORLD, &requests[i]));
  for (int i = messages; i-- > 0;) {
    MPI_Status status;
    if (i % 7 == 0) {
      OK(MPI_Probe(source, i, MPI_COMM_WORLD, &status));
      STATUS(&status, left_of(rank), i, bytes);
    }
    OK(MPI_Recv(in, bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, &status));
    STATUS(&status, left_of(rank), i, bytes);
    EQ(memcmp(in, out + i, (size_t)bytes), 0);
  }
  wait_all(messages);
}

// What waits for a receive holds up neither messages to other ranks nor those that are wanted
// first.
static void others_get_through(int bytes) {
  MPI_Status status;
  for (int i = 0; i < few; ++i)
    OK(MPI_Isend(out + i, bytes, MPI_BYTE, right_of(rank), i, MPI_COMM_WORLD, &requests[i]));
  const int sizes[] = {8, large};
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Sendrecv(out, sizes[i], MPI_BYTE, left_of(rank), other, in, sizes[i], MPI_BYTE,
                    right_of(rank), other, MPI_COMM_WORLD, &status));
    STATUS(&status, right_of(rank), other, sizes[i]);
    OK(MPI_Sendrecv(out, sizes[i], MPI_BYTE, right_of(rank), other, in, sizes[i], MPI_BYTE,
                    left_of(rank), other, MPI_COMM_WORLD, &status));
    STATUS(&status, left_of(rank), other, sizes[i]);
  }
  for (int i = 0; i < few; ++i) {  // any tag: in order
    OK(MPI_Recv(in, bytes, MPI_BYTE, i % 2 ? left_of(rank) : MPI_ANY_SOURCE, MPI_ANY_TAG,
                MPI_COMM_WORLD, &status));
    STATUS(&status, left_of(rank), i, bytes);
    EQ(memcmp(in, out + i, (size_t)bytes), 0);
  }
  wait_all(few);
}

// Every other one is cancelled, from the middle on and around; the others are received.
static void cancelled_among_them(void) {
  for (int i = 0; i < messages; ++i)
    OK(MPI_Issend(out + i, 4, MPI_BYTE, right_of(rank), i / 2, MPI_COMM_WORLD, &requests[i]));
  for (int n = 0; n < messages; n += 2) {
    const int i = (messages / 2 + n) % messages;
    int done = 0, gone = 0;
    MPI_Status status;
    OK(MPI_Cancel(&requests[i]));
    do OK(MPI_Test(&requests[i], &done, &status));
    while (is_apart(right_of(rank)) && !done);
    EQ(done, 1);
    OK(MPI_Test_cancelled(&status, &gone));
    EQ(gone, 1);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = messages - 1; i > 0; i -= 2) {
    OK(MPI_Recv(in, 4, MPI_BYTE, left_of(rank), i / 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(memcmp(in, out + i, 4), 0);
  }
  int flag = 1;
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  EQ(flag, 0);
  wait_all(messages);
}

// Receives posted long before: of all kinds, found in the order of their posting.
static void posted_before(void) {
  static unsigned char got[messages][8];
  MPI_Status status[4];
  for (int i = 0; i < messages; ++i)
    OK(MPI_Irecv(got[i], 8, MPI_BYTE, i % 2 ? left_of(rank) : MPI_ANY_SOURCE,
                 i < 4 ? MPI_ANY_TAG : i, MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = messages; i-- > 0;)
    OK(MPI_Send(out + i, 8, MPI_BYTE, right_of(rank), i, MPI_COMM_WORLD));
  // The first four receives take whatever comes first; the last four sent find only those.
  OK(MPI_Waitall(4, requests, status));
  for (int i = 0; i < 4; ++i) STATUS(&status[i], left_of(rank), messages - 1 - i, 8);
  for (int i = 0; i < 4; ++i)
    OK(MPI_Send(out, 8, MPI_BYTE, right_of(rank), messages - 1 - i, MPI_COMM_WORLD));
  OK(MPI_Waitall(messages - 4, requests + 4, MPI_STATUSES_IGNORE));
  for (int i = 4; i < messages - 4; ++i) EQ(memcmp(got[i], out + i, 8), 0);
  for (int i = 0; i < 4; ++i)
    OK(MPI_Recv(in, 8, MPI_BYTE, left_of(rank), 3 - i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  out = alloc(messages + large);
  in = alloc(large);
  fill(out, messages + large, 0);
  to_itself();
  backwards(MPI_Issend, 4, left_of(rank));
  backwards(MPI_Issend, 4, MPI_ANY_SOURCE);
  backwards(MPI_Isend, 1000, left_of(rank));
  others_get_through(large);
  others_get_through(8);
  cancelled_among_them();
  posted_before();
  free(in);
  free(out);
  return finish();
}
