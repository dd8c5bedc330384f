// SPDX-License-Identifier: Apache-2.0
// Sends that a rank leaves to its thread of weft's own (WEFT_PROGRESS=rank): they go while the rank
// is away, keep their order among direct sends, leave the buffer alone once waited for, and end
// with MPI_Cancel, MPI_Request_free and MPI_Finalize. Argument: the thread level, "single" or
// "multiple".
#include <unistd.h>

#include "../counter.h"
#include "page.h"

enum { small = 100, medium = 20000, large = 200000, huge = 1 << 20, rounds = 12, window = 9 };
static const int sizes[] = {medium, large, huge};
enum { all_sizes = sizeof sizes / sizeof *sizes };

static unsigned char *out, *in;

// What begins while the thread rests is left to it; it is asleep a while after the last call.
static void let_thread_rest(void) {
  usleep(6000);
}

static void away(int bytes) {
  begin_round();
  if (rank != 0) {
    until_away();
    memset(in, 0, (size_t)bytes);
    OK(MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, (size_t)bytes, (unsigned)bytes);
    return arrive();
  }
  MPI_Request* requests = alloc((size_t)size * sizeof *requests);
  fill(out, (size_t)bytes, (unsigned)bytes);
  let_thread_rest();
  for (int r = 1; r < size; ++r)
    OK(MPI_Isend(out, bytes, MPI_BYTE, r, 1, MPI_COMM_WORLD, &requests[r]));
  stay_away("Isend");
  OK(MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE));
  free(requests);
}

// All kinds of sends to one rank: they come in the order of the calls.
static void in_order(unsigned round) {
  static const int kinds[window] = {medium, small, large, small, medium, medium, huge, 0, large};
  MPI_Request requests[window], persistent[2];
  const int next = right_of(rank), before = left_of(rank);
  for (int i = 0; i < window; ++i) fill(out + i * huge, (size_t)kinds[i], round + (unsigned)i);
  for (int i = 0; i < 2; ++i)
    OK(MPI_Send_init(out + i * huge, kinds[i], MPI_BYTE, next, 2, MPI_COMM_WORLD, &persistent[i]));
  let_thread_rest();
  OK(MPI_Startall(2, persistent));
  for (int i = 2; i < window; ++i) {
    requests[i] = MPI_REQUEST_NULL;
    if (kinds[i] == small)  // its call returns only with what is before it under way
      OK(MPI_Send(out + i * huge, kinds[i], MPI_BYTE, next, 2, MPI_COMM_WORLD));
    else if (i % 4 == 0)
      OK(MPI_Issend(out + i * huge, kinds[i], MPI_BYTE, next, 2, MPI_COMM_WORLD, &requests[i]));
    else
      OK(MPI_Isend(out + i * huge, kinds[i], MPI_BYTE, next, 2, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 0; i < window; ++i) {
    MPI_Status status;
    int bytes = -1;
    if (i % 2) OK(MPI_Probe(before, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(in, huge, MPI_BYTE, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
    EQ(bytes, kinds[i]);
    FILLED(in, (size_t)kinds[i], round + (unsigned)i);
  }
  OK(MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(window - 2, requests + 2, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&persistent[i]));
}

// The buffer is written anew as soon as the wait, or a test, says so, before anybody receives.
static void reused(int by_test) {
  const int next = right_of(rank), before = left_of(rank);
  MPI_Request request;
  for (int i = 0; i < 3; ++i) {
    fill(out, medium, (unsigned)i);
    if (i == 0) let_thread_rest();
    OK(MPI_Isend(out, medium, MPI_BYTE, next, 3, MPI_COMM_WORLD, &request));
    int done = !by_test;
    if (!by_test) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    while (!done) OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    memset(out, 0xee, medium);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Recv(in, medium, MPI_BYTE, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, medium, (unsigned)i);
  }
}

// A message is cancelled or received, never both and never neither.
static void cancelled(int bytes, int wait_before) {
  const int next = right_of(rank), before = left_of(rank);
  MPI_Request request;
  MPI_Status status;
  int is = -1, theirs = -1;
  fill(out, (size_t)bytes, 4);
  let_thread_rest();
  OK(MPI_Isend(out, bytes, MPI_BYTE, next, 4, MPI_COMM_WORLD, &request));
  if (wait_before) usleep(2000);
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &is));
  OK(MPI_Sendrecv(&is, 1, MPI_INT, next, 5, &theirs, 1, MPI_INT, before, 5, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  if (theirs) {
    int flag = -1;
    OK(MPI_Iprobe(before, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    EQ(flag, 0);
  } else {
    OK(MPI_Recv(in, bytes, MPI_BYTE, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, (size_t)bytes, 4);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  int provided;
  const int several = argc > 1 && strcmp(argv[1], "multiple") == 0;
  OK(MPI_Init_thread(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  out = alloc((size_t)window * huge);
  in = alloc(huge);
  open_page();
  open_counter("sends_delegated", MPI_T_PVAR_CLASS_COUNTER);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < all_sizes; ++i) away(sizes[i]);
    if (size > 1) in_order((unsigned)round);
    reused(round % 2);
    for (int i = 0; i < all_sizes; ++i) cancelled(sizes[i], round % 2);
  }
  CHECK(counted() > 0, "no send was left to the rank's thread");
  close_counter();
  // What is delegated when MPI ends is received all the same.
  MPI_Request request;
  fill(out, large, 5);
  let_thread_rest();
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Isend(out, large, MPI_BYTE, right_of(rank), 6, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
  }
  for (int i = 0; i < 2; ++i) {
    if (rank == 0) usleep(1000);
    OK(MPI_Recv(in, large, MPI_BYTE, left_of(rank), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, large, 5);
  }
  return finish();
}
