// SPDX-License-Identifier: Apache-2.0
// A rank begins something and stays away from MPI until others have seen that it goes on without
// it: its thread of weft's own has done its part (WEFT_PROGRESS=rank). Others say so in a page that
// all ranks share, not by messages. Argument: the thread level, "single", "multiple", or "threads":
// then a second thread of each rank calls MPI all the time.
#include <pthread.h>
#include <unistd.h>

#include "../counter.h"
#include "page.h"

enum { large = 2 << 20 };

static char *out, *in;
static pthread_t main_thread;
static atomic_int ends;

// Large messages to a rank that has posted its receives: each sender's call ends when its message
// is there.
static void receives(void) {
  begin_round();
  if (rank != 0) {
    fill(out, large, (unsigned)rank);
    until_away();
    OK(MPI_Send(out, large, MPI_BYTE, 0, 5, MPI_COMM_WORLD));
    return arrive();
  }
  MPI_Request* requests = alloc((size_t)size * sizeof *requests);
  for (int r = 1; r < size; ++r)
    OK(MPI_Irecv(in + (size_t)r * large, large, MPI_BYTE, r, 5, MPI_COMM_WORLD, &requests[r]));
  stay_away("Irecv");
  OK(MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE));
  for (int r = 1; r < size; ++r) FILLED(in + (size_t)r * large, large, (unsigned)r);
  free(requests);
}

// Large messages from a rank that is away.
static void sends(void) {
  begin_round();
  if (rank != 0) {
    until_away();
    OK(MPI_Recv(in, large, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, large, 77);
    return arrive();
  }
  MPI_Request* requests = alloc((size_t)size * sizeof *requests);
  fill(out, large, 77);
  for (int r = 1; r < size; ++r)
    OK(MPI_Isend(out, large, MPI_BYTE, r, 6, MPI_COMM_WORLD, &requests[r]));
  stay_away("Isend");
  OK(MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE));
  free(requests);
}

enum Collective { iallreduce, ialltoall, ibcast, iallgather, start_allreduce, collectives };
static const char* const names[] = {"Iallreduce", "Ialltoall", "Ibcast", "Iallgather",
                                    "Start of Allreduce_init"};
enum { count = 50000 };

static void begin_collective(enum Collective which, MPI_Request* request) {
  int *from = (int*)out, *to = (int*)in;
  for (int i = 0; i < count; ++i) from[i] = rank * 3 + i;
  const int each = count / size;
  switch (which) {
    case iallreduce:
      OK(MPI_Iallreduce(from, to, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request));
      break;
    case ialltoall:
      OK(MPI_Ialltoall(from, each, MPI_INT, to, each, MPI_INT, MPI_COMM_WORLD, request));
      break;
    case ibcast:  // from the last rank, through the one that is away where that is a tree
      if (rank == size - 1)
        OK(MPI_Ibcast(from, count, MPI_INT, size - 1, MPI_COMM_WORLD, request));
      else
        OK(MPI_Ibcast(to, count, MPI_INT, size - 1, MPI_COMM_WORLD, request));
      break;
    case iallgather:
      OK(MPI_Iallgather(from, each, MPI_INT, to, each, MPI_INT, MPI_COMM_WORLD, request));
      break;
    default:
      OK(MPI_Allreduce_init(from, to, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            request));
      OK(MPI_Start(request));
  }
}

static void verify(enum Collective which) {
  const int *to = (int*)in, each = count / size;
  int wrong = 0;
  for (int i = 0; i < each * size; ++i) {
    int want = size * (size - 1) / 2 * 3 + size * i;
    if (which == ialltoall) want = i / each * 3 + rank * each + i % each;
    if (which == iallgather) want = i / each * 3 + i % each;
    if (which == ibcast) want = (size - 1) * 3 + i;
    wrong += !(which == ibcast && rank == size - 1) && to[i] != want;
  }
  CHECK(wrong == 0, "%s: %d numbers wrong", names[which], wrong);
}

static void collective(enum Collective which) {
  MPI_Request request;
  begin_round();
  if (rank != 0) until_away();
  begin_collective(which, &request);
  if (rank == 0) stay_away(names[which]);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (rank != 0) arrive();
  verify(which);
  if (which == start_allreduce) OK(MPI_Request_free(&request));
}

static atomic_int called, elsewhere;
static void add(void* a, void* b, int* length, MPI_Datatype* type) {
  int *from = a, *to = b;
  (void)type;
  atomic_fetch_add(&called, 1);
  if (!pthread_equal(pthread_self(), main_thread)) atomic_fetch_add(&elsewhere, 1);
  for (int i = 0; i < *length; ++i) to[i] += from[i];
}

// A user's function is called by the rank's own thread, unless a hint allows others.
static void user_op(const char* anywhere) {
  MPI_Op op;
  MPI_Info info;
  MPI_Comm comm;
  MPI_Request request;
  const int here_only = strcmp(anywhere, "false") == 0;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "weft_progress_user_ops", anywhere));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Info_free(&info));
  begin_round();
  OK(MPI_Op_create(add, 1, &op));
  atomic_store(&called, 0);
  atomic_store(&elsewhere, 0);
  int *from = (int*)out, *to = (int*)in;
  for (int i = 0; i < count; ++i) from[i] = rank * 3 + i;
  if (rank != 0 && !here_only) until_away();
  OK(MPI_Iallreduce(from, to, count, MPI_INT, op, comm, &request));
  if (rank == 0 && here_only) usleep(20000);
  if (rank == 0 && !here_only) stay_away("Iallreduce of a user's function");
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (rank != 0 && !here_only) arrive();
  verify(iallreduce);
  int calls = atomic_load(&called);
  OK(MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(size == 1 || calls > 0, "the function was never called");
  if (here_only) EQ(atomic_load(&elsewhere), 0);
  OK(MPI_Op_free(&op));
  OK(MPI_Comm_free(&comm));
}

// An error that is found while the rank is away is that of its wait; a cancelled receive is over.
static void errors_and_cancel(void) {
  MPI_Request request;
  MPI_Status status;
  begin_round();
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (rank == 1) {
    until_away();
    OK(MPI_Send(out, large, MPI_BYTE, 0, 7, MPI_COMM_WORLD));
    arrive();
  } else if (rank == 0 && size > 1) {
    int class;
    OK(MPI_Irecv(in, large / 2, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &request));
    atomic_store(&page->away, 1);
    CHECK(wait_for(&page->arrived, 1), "a message that is too long is not taken");
    OK(MPI_Error_class(MPI_Wait(&request, &status), &class));
    EQ(class, MPI_ERR_TRUNCATE);
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  int flag = 0;
  OK(MPI_Irecv(in, 8, MPI_BYTE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request));
  usleep(2000);
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(flag, 1);
}

// Calls MPI all the time.
static void* second_thread(void* comm) {
  int sent = 0, got = -1;
  while (!atomic_load(&ends)) {
    ++sent;
    OK(MPI_Sendrecv(&sent, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, *(MPI_Comm*)comm,
                    MPI_STATUS_IGNORE));
    EQ(got, sent);
    usleep(200);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* level = argc > 1 ? argv[1] : "single";
  const int threads = strcmp(level, "threads") == 0;
  int provided;
  main_thread = pthread_self();
  OK(MPI_Init_thread(&argc, &argv,
                     strcmp(level, "single") == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                     &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  out = alloc(large);
  in = alloc((size_t)large * (size_t)size);
  open_page();
  open_counter("background_steps", MPI_T_PVAR_CLASS_COUNTER);
  pthread_t thread;
  MPI_Comm self = MPI_COMM_NULL;
  if (threads) {
    OK(MPI_Comm_dup(MPI_COMM_SELF, &self));
    if (pthread_create(&thread, NULL, second_thread, &self) != 0) DIE("no thread");
  }
  for (int round = 0; round < 3; ++round) {
    receives();
    sends();
    for (int which = 0; which < collectives; ++which) collective((enum Collective)which);
    user_op("false");
    user_op("true");
    errors_and_cancel();
  }
  if (rank == 0 && size > 1) CHECK(counted() > 0, "no step was done by a thread of weft's own");
  close_counter();
  if (threads) {
    atomic_store(&ends, 1);
    pthread_join(thread, NULL);
    OK(MPI_Comm_free(&self));
  }
  // Something is under way when MPI ends.
  MPI_Request request;
  fill(out, large, 5);
  OK(MPI_Isend(out, large, MPI_BYTE, right_of(rank), 8, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  OK(MPI_Recv(in, large, MPI_BYTE, left_of(rank), 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  FILLED(in, large, 5);
  return finish();
}
