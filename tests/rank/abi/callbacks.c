// SPDX-License-Identifier: Apache-2.0
// Callbacks that call MPI: operations, attributes, error handlers, generalized requests, while the
// rank is MPI_THREAD_MULTIPLE and so inside its lock; and two threads of one rank in MPI at the
// same time.
#include <pthread.h>

#include "../check.h"

static int copies = 0, deletes = 0, handled = 0;

static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  int bytes = 0, initialized = 0;
  OK(MPI_Type_size(*type, &bytes));
  EQ(bytes, 8);
  OK(MPI_Initialized(&initialized));
  EQ(initialized, 1);
  for (int i = 0; i < *n; ++i) ((double*)inout)[i] += ((double*)in)[i];
}

static int copy(MPI_Comm comm, int keyval, void* extra, void* value, void* out, int* flag) {
  int n = 0;
  (void)keyval;
  OK(MPI_Comm_size(comm, &n));
  EQ(n, size);
  CHECK(extra == &copies, "extra state changed on its way");
  ++copies;
  *(void**)out = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_(MPI_Comm comm, int keyval, void* value, void* extra) {
  int who = -1;
  (void)keyval, (void)value, (void)extra;
  OK(MPI_Comm_rank(comm, &who));
  EQ(who, rank);
  ++deletes;
  return MPI_SUCCESS;
}

static void handler(MPI_Comm* comm, int* code, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, n = 0;
  OK(MPI_Comm_size(*comm, &n));
  OK(MPI_Error_string(*code, text, &length));
  CHECK(strstr(text, "MPI_Send on rank"), "the text is '%s'", text);
  ++handled;
}

// Of generalized requests; `extra` says which callback fails, by the error it returns.
enum { failing_query = MPI_ERR_BUFFER, failing_free = MPI_ERR_COUNT, failing_cancel = MPI_ERR_TAG };
static int fails_as(void* extra, int code) {
  return extra && *(int*)extra == code ? code : MPI_SUCCESS;
}

static int query(void* extra, MPI_Status* status) {
  OK(MPI_Status_set_elements(status, MPI_INT, 3));
  OK(MPI_Status_set_cancelled(status, 0));
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return fails_as(extra, failing_query);
}
static int release(void* extra) {
  return fails_as(extra, failing_free);
}
static int cancel(void* extra, int complete) {
  (void)complete;
  return fails_as(extra, failing_cancel);
}

static void* partner(void* comm) {
  int who = -1;
  for (int i = 0; i < 200; ++i) {
    int out = i, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, right_of(rank), 77, &in, 1, MPI_INT, left_of(rank), 77,
                 *(MPI_Comm*)comm, MPI_STATUS_IGNORE);
    if (in != i) return "a message of the second thread went astray";
  }
  MPI_Comm_rank(*(MPI_Comm*)comm, &who);
  return who == rank ? NULL : "the second thread has another rank";
}

int main(int argc, char** argv) {
  int provided = 0, keyval = 0, n = 0;
  double one = rank, sum = 0;
  MPI_Op op;
  MPI_Comm dup;
  MPI_Errhandler mine;
  MPI_Request request;
  MPI_Status status;
  pthread_t thread;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));

  OK(MPI_Op_create(add, 1, &op));
  one = rank;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2.0, "the sum is %g", sum);
  OK(MPI_Op_free(&op));

  OK(MPI_Comm_create_keyval(copy, delete_, &keyval, &copies));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &one));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  EQ(copies, 1);
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval));
  EQ(deletes, 1);

  OK(MPI_Comm_create_errhandler(handler, &mine));
  OK(MPI_Comm_set_errhandler(dup, mine));
  EQ(MPI_Send(&n, 1, MPI_INT, size, 0, dup), MPI_ERR_RANK);
  EQ(handled, 1);

  OK(MPI_Grequest_start(query, release, cancel, NULL, &request));
  OK(MPI_Grequest_complete(request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_INT, &n));
  EQ(n, 3);

  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));  // theirs: of no communicator
  const int codes[] = {failing_query, failing_free, failing_cancel};
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Grequest_start(query, release, cancel, (void*)&codes[i], &request));
    EQ(MPI_Cancel(&request), codes[i] == failing_cancel ? failing_cancel : MPI_SUCCESS);
    OK(MPI_Grequest_complete(request));
    EQ(MPI_Wait(&request, &status), codes[i] == failing_cancel ? MPI_SUCCESS : codes[i]);
    CHECK(request == MPI_REQUEST_NULL, "a failed callback keeps its request");
  }
  OK(MPI_Grequest_start(query, release, cancel, (void*)&codes[1], &request));
  OK(MPI_Grequest_complete(request));
  EQ(MPI_Request_free(&request), failing_free);

  // The second thread talks on `dup`, this one on MPI_COMM_WORLD.
  void* complaint = NULL;
  CHECK(pthread_create(&thread, NULL, partner, &dup) == 0, "no second thread");
  for (int i = 0; i < 200; ++i) {
    int out = i, in = -1;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, left_of(rank), 5, &in, 1, MPI_INT, right_of(rank), 5,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(in, i);
  }
  pthread_join(thread, &complaint);
  CHECK(complaint == NULL, "%s", (char*)complaint);

  OK(MPI_Comm_free(&dup));
  EQ(deletes, 2);
  OK(MPI_Comm_free_keyval(&keyval));
  OK(MPI_Errhandler_free(&mine));
  return finish();
}
