// SPDX-License-Identifier: Apache-2.0
// Chapter 3, point-to-point communication: order, matching, statuses, requests.
#include "rules.h"

// --- 3.2 .. 3.5: blocking communication
// ------------------------------------------------------------
static void count_undefined(void) {
  MPI_Status status;
  const char bytes[6] = {1, 2, 3, 4, 5, 6};
  char in[6];
  int count = -1;
  MPI_Count large = -1;
  OK(MPI_Sendrecv(bytes, 6, MPI_CHAR, right, 0, in, 6, MPI_CHAR, left, 0, comm, &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Get_count_c(&status, MPI_INT, &large));
  EQ(large, MPI_UNDEFINED);
  OK(MPI_Get_count(&status, MPI_SHORT, &count));
  EQ(count, 3);
}

static void count_of_empty_type(void) {
  MPI_Status status;
  MPI_Datatype nothing;
  int count = -1;
  OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
  OK(MPI_Type_commit(&nothing));
  OK(MPI_Sendrecv(NULL, 0, MPI_INT, right, 0, NULL, 0, MPI_INT, left, 0, comm, &status));
  OK(MPI_Get_count(&status, nothing, &count));
  EQ(count, 0);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &count, 1, MPI_INT, left, 0, comm, &status));
  OK(MPI_Get_count(&status, nothing, &count));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Type_free(&nothing));
}

static void status_error_kept(void) {
  MPI_Status status = dirty();
  const int before = status.MPI_ERROR;
  int in = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 4, &in, 1, MPI_INT, left, 4, comm, &status));
  EQ(status.MPI_ERROR, before);
  STATUS(&status, left, 4, sizeof in);
}

static void status_accessors(void) {
  MPI_Status status;
  int in = -1, source = -1, tag = -1, error = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 9, &in, 1, MPI_INT, left, 9, comm, &status));
  OK(MPI_Status_set_error(&status, MPI_ERR_OTHER));
  OK(MPI_Status_get_source(&status, &source));
  OK(MPI_Status_get_tag(&status, &tag));
  OK(MPI_Status_get_error(&status, &error));
  EQ(source, left), EQ(tag, 9), EQ(error, MPI_ERR_OTHER);
  EQ(status.MPI_ERROR, MPI_ERR_OTHER);
}

static void shorter_message(void) {
  int in[4] = {-1, -1, -1, -1}, out[2] = {rank, rank + 1};
  OK(MPI_Sendrecv(out, 2, MPI_INT, right, 0, in, 4, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  EQ(in[0], left), EQ(in[1], left + 1), EQ(in[2], -1), EQ(in[3], -1);
}

static void truncated(void) {
  int in[3] = {-1, -1, -1}, out[3] = {1, 2, 3};
  MPI_Request request;
  OK(MPI_Isend(out, 3, MPI_INT, right, 0, comm, &request));
  FAILS(MPI_Recv(in, 2, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  EQ(in[2], -1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void typed_matching(void) {
  const struct {
    int a;
    double b;
  } out = {rank, rank + 0.5};
  double b = 0;
  int a = -1, one[2] = {1, 1};
  MPI_Aint at[2] = {0, (const char*)&out.b - (const char*)&out}, to[2];
  MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, whole, apart;
  MPI_Request request;
  OK(MPI_Get_address(&a, &to[0]));
  OK(MPI_Get_address(&b, &to[1]));
  OK(MPI_Type_create_struct(2, one, at, types, &whole));
  OK(MPI_Type_create_struct(2, one, to, types, &apart));
  OK(MPI_Type_commit(&whole));
  OK(MPI_Type_commit(&apart));
  OK(MPI_Isend(&out, 1, whole, right, 0, comm, &request));
  OK(MPI_Recv(MPI_BOTTOM, 1, apart, left, 0, comm, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(a, left);
  CHECK(b == left + 0.5, "the double is %g, expected %g", b, left + 0.5);
  OK(MPI_Type_free(&whole));
  OK(MPI_Type_free(&apart));
}

static void order(void) {
  enum { n = 20 };
  MPI_Request sent[n];
  int out[n], in = -1;
  for (int i = 0; i < n; ++i) {
    out[i] = i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, right, i % 2, comm, &sent[i]));
  }
  for (int i = 1; i < n; i += 2) {  // the odd tags first, then the others by a wildcard
    OK(MPI_Recv(&in, 1, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE));
    EQ(in, i);
  }
  for (int i = 0; i < n; i += 2) {
    OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    EQ(in, i);
  }
  OK(MPI_Waitall(n, sent, MPI_STATUSES_IGNORE));
}

static void order_of_receives(void) {
  int in[3] = {-1, -1, -1}, out[3] = {10, 11, 12};
  MPI_Request request[6];
  OK(MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request[0]));
  OK(MPI_Irecv(&in[1], 1, MPI_INT, left, 5, comm, &request[1]));
  OK(MPI_Irecv(&in[2], 1, MPI_INT, left, MPI_ANY_TAG, comm, &request[2]));
  for (int i = 0; i < 3; ++i) OK(MPI_Isend(&out[i], 1, MPI_INT, right, 5, comm, &request[3 + i]));
  OK(MPI_Waitall(6, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 3; ++i) EQ(in[i], out[i]);
}

static void order_over_modes(void) {
  const int large = 200000;
  char *out = alloc(large), *in = alloc(large), *room = alloc(1000 + MPI_BSEND_OVERHEAD);
  int small = -1;
  MPI_Request request[2];
  void* back;
  fill(out, large, rank);
  OK(MPI_Comm_attach_buffer(comm, room, 1000 + MPI_BSEND_OVERHEAD));
  OK(MPI_Isend(out, large, MPI_CHAR, right, 1, comm, &request[0]));
  OK(MPI_Bsend(&rank, 1, MPI_INT, right, 1, comm));
  OK(MPI_Issend(out, 1, MPI_CHAR, right, 1, comm, &request[1]));
  OK(MPI_Recv(in, large, MPI_CHAR, left, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
  FILLED(in, large, left);
  OK(MPI_Recv(&small, 1, MPI_INT, left, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
  EQ(small, left);
  OK(MPI_Recv(in, 1, MPI_CHAR, left, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  OK(MPI_Comm_detach_buffer(comm, &back, &small));
  CHECK(back == room, "the detached buffer is not the attached one");
  free(room), free(in), free(out);
}

static void communicators_apart(void) {
  MPI_Comm other;
  MPI_Request request[2];
  int in[2] = {-1, -1}, a = 1, b = 2;
  OK(MPI_Comm_dup(comm, &other));
  OK(MPI_Isend(&a, 1, MPI_INT, right, 0, comm, &request[0]));
  OK(MPI_Isend(&b, 1, MPI_INT, right, 0, other, &request[1]));
  OK(MPI_Recv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
  EQ(in[0], a), EQ(in[1], b);
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  OK(MPI_Comm_free(&other));
}

// --- 3.4, 3.6: modes and buffers
// -------------------------------------------------------------------
static void synchronous(void) {
  MPI_Request request;
  int flag = -1, in = -1;
  OK(MPI_Issend(&rank, 1, MPI_INT, right, 0, comm, &request));
  OK(MPI_Barrier(comm));
  for (int i = 0; i < 20; ++i) {  // nobody receives yet
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    EQ(flag, 0);
  }
  OK(MPI_Barrier(comm));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(in, left);
}

static void buffered_is_local(void) {
  enum { n = 5 };
  int bytes = 0, size_of = 0, in = -1, room[1000];
  void* back = NULL;
  OK(MPI_Pack_size(1, MPI_INT, comm, &size_of));
  bytes = n * (size_of + MPI_BSEND_OVERHEAD);
  OK(MPI_Buffer_attach(room, bytes));
  for (int i = 0; i < n; ++i) OK(MPI_Bsend(&i, 1, MPI_INT, right, 0, comm));
  for (int i = 0; i < n; ++i) {
    OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
    EQ(in, i);
  }
  OK(MPI_Buffer_detach(&back, &size_of));
  CHECK(back == room, "detached %p, attached %p", back, (void*)room);
  EQ(size_of, bytes);
}

static void buffer_too_small(void) {
  char room[MPI_BSEND_OVERHEAD + 16], data[1000] = {0};
  void* back;
  int bytes;
  OK(MPI_Buffer_attach(room, sizeof room));
  FAILS(MPI_Bsend(data, sizeof data, MPI_CHAR, right, 0, comm), MPI_ERR_BUFFER);
  OK(MPI_Buffer_detach(&back, &bytes));
}

static void buffer_automatic(void) {
  char data[5000], in[5000];
  void* back = NULL;
  int bytes = -1;
  fill(data, sizeof data, rank);
  OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
  for (int i = 0; i < 3; ++i) OK(MPI_Bsend(data, sizeof data, MPI_CHAR, right, 0, comm));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Recv(in, sizeof in, MPI_CHAR, left, 0, comm, MPI_STATUS_IGNORE));
    FILLED(in, sizeof in, left);
  }
  OK(MPI_Comm_detach_buffer(comm, &back, &bytes));
  CHECK(back == MPI_BUFFER_AUTOMATIC, "detached %p, expected MPI_BUFFER_AUTOMATIC", back);
}

static void buffer_flush(void) {
  char room[2000], data[300], in[300];
  void* back;
  int bytes;
  MPI_Request request;
  fill(data, sizeof data, rank);
  OK(MPI_Buffer_attach(room, sizeof room));
  OK(MPI_Bsend(data, sizeof data, MPI_CHAR, right, 0, comm));
  OK(MPI_Buffer_iflush(&request));
  OK(MPI_Recv(in, sizeof in, MPI_CHAR, left, 0, comm, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  FILLED(in, sizeof in, left);
  OK(MPI_Buffer_flush());
  OK(MPI_Buffer_detach(&back, &bytes));
}

// --- 3.7: requests
// ---------------------------------------------------------------------------------
static void wait_null(void) {
  MPI_Request null = MPI_REQUEST_NULL;
  MPI_Status status = dirty();
  int flag = 0;
  OK(MPI_Wait(&null, &status));
  EMPTY(&status);
  status = dirty();
  OK(MPI_Test(&null, &flag, &status));
  EQ(flag, 1);
  EMPTY(&status);
  status = dirty();
  flag = 0;
  OK(MPI_Request_get_status(null, &flag, &status));
  EQ(flag, 1);
  EMPTY(&status);
}

static void send_status(void) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = -1, in;
  OK(MPI_Isend(&rank, 1, MPI_INT, right, 0, comm, &request));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  EQ(cancelled, 0);
  CHECK(request == MPI_REQUEST_NULL, "the request of a completed send is not null");
}

static void waitany_null(void) {
  MPI_Request all[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status = dirty();
  int index = 7, flag = 0;
  OK(MPI_Waitany(3, all, &index, &status));
  EQ(index, MPI_UNDEFINED);
  EMPTY(&status);
  index = 7, status = dirty();
  OK(MPI_Testany(3, all, &index, &flag, &status));
  EQ(index, MPI_UNDEFINED), EQ(flag, 1);
  EMPTY(&status);
  index = 7;
  OK(MPI_Waitany(0, NULL, &index, &status));
  EQ(index, MPI_UNDEFINED);
  flag = 0;
  OK(MPI_Testany(0, NULL, &index, &flag, &status));
  EQ(flag, 1);
  OK(MPI_Request_get_status_any(3, all, &index, &flag, &status));
  EQ(index, MPI_UNDEFINED), EQ(flag, 1);
}

static void waitsome_null(void) {
  MPI_Request all[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int done = 7, which[2];
  OK(MPI_Waitsome(2, all, &done, which, MPI_STATUSES_IGNORE));
  EQ(done, MPI_UNDEFINED);
  done = 7;
  OK(MPI_Testsome(2, all, &done, which, MPI_STATUSES_IGNORE));
  EQ(done, MPI_UNDEFINED);
  done = 7;
  OK(MPI_Waitsome(0, NULL, &done, NULL, MPI_STATUSES_IGNORE));
  EQ(done, MPI_UNDEFINED);
  done = 7;
  OK(MPI_Request_get_status_some(2, all, &done, which, MPI_STATUSES_IGNORE));
  EQ(done, MPI_UNDEFINED);
}

static void testsome_none(void) {
  MPI_Request request;
  int in, done = 7, which, flag = 7, index = 7;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, comm, &request));
  OK(MPI_Testsome(1, &request, &done, &which, MPI_STATUSES_IGNORE));
  EQ(done, 0);
  OK(MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE));
  EQ(flag, 0), EQ(index, MPI_UNDEFINED);
  OK(MPI_Barrier(comm));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 0, comm));
  OK(MPI_Waitsome(1, &request, &done, &which, MPI_STATUSES_IGNORE));
  EQ(done, 1), EQ(which, 0), EQ(in, left);
}

static void testall_nothing_changed(void) {
  MPI_Request request[2];
  int in[2] = {-1, -1}, flag = 7;
  OK(MPI_Irecv(&in[0], 1, MPI_INT, left, 0, comm, &request[0]));
  OK(MPI_Irecv(&in[1], 1, MPI_INT, left, 1, comm, &request[1]));
  const MPI_Request before = request[0];
  OK(MPI_Barrier(comm));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 0, comm));
  do OK(MPI_Request_get_status(request[0], &flag, MPI_STATUS_IGNORE));
  while (!flag);
  OK(MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE));
  EQ(flag, 0);
  CHECK(request[0] == before, "Testall without success took a request");
  OK(MPI_Barrier(comm));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 1, comm));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  EQ(in[0], left), EQ(in[1], left);
}

static void waitall_in_status(void) {
  int in[2][2] = {{-1, -1}, {-1, -1}}, out[2] = {1, 2};
  MPI_Request request[4];
  MPI_Status status[2];
  OK(MPI_Irecv(in[0], 1, MPI_INT, left, 0, comm, &request[0]));  // too short
  OK(MPI_Irecv(in[1], 2, MPI_INT, left, 1, comm, &request[1]));
  OK(MPI_Isend(out, 2, MPI_INT, right, 0, comm, &request[2]));
  OK(MPI_Isend(out, 2, MPI_INT, right, 1, comm, &request[3]));
  FAILS(MPI_Waitall(2, request, status), MPI_ERR_IN_STATUS);
  while (status[1].MPI_ERROR == MPI_ERR_PENDING) MPI_Waitall(1, request + 1, status + 1);
  FAILS(status[0].MPI_ERROR, MPI_ERR_TRUNCATE);
  EQ(status[1].MPI_ERROR, MPI_SUCCESS);
  EQ(in[1][1], 2);
  MPI_Waitall(2, request + 2, MPI_STATUSES_IGNORE);
}

static void get_status_keeps(void) {
  MPI_Request request;
  MPI_Status status;
  int in = -1, flag = 0;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 3, comm, &request));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 3, comm));
  while (!flag) OK(MPI_Request_get_status(request, &flag, &status));
  STATUS(&status, left, 3, sizeof in);
  CHECK(request != MPI_REQUEST_NULL, "Request_get_status took the request");
  flag = 0, status = dirty();
  OK(MPI_Test(&request, &flag, &status));
  EQ(flag, 1);
  STATUS(&status, left, 3, sizeof in);
}

static void free_active(void) {
  MPI_Request request;
  int in = -1, out = rank;
  OK(MPI_Isend(&out, 1, MPI_INT, right, 0, comm, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL, "Request_free left the handle as it was");
  OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  EQ(in, left);
}

// --- 3.8: probe, matched probe, cancel
// -------------------------------------------------------------
static void probe_then_receive(void) {
  MPI_Request request[2];
  MPI_Status status;
  int a[3] = {1, 2, 3}, b = 4, in[3] = {0}, flag = 0;
  OK(MPI_Isend(a, 3, MPI_INT, right, 8, comm, &request[0]));
  OK(MPI_Isend(&b, 1, MPI_INT, right, 9, comm, &request[1]));
  OK(MPI_Probe(left, MPI_ANY_TAG, comm, &status));
  STATUS(&status, left, 8, sizeof a);
  while (!flag) OK(MPI_Iprobe(MPI_ANY_SOURCE, 9, comm, &flag, &status));
  STATUS(&status, left, 9, sizeof b);
  OK(MPI_Recv(in, 3, MPI_INT, left, MPI_ANY_TAG, comm, &status));  // what Probe saw first
  STATUS(&status, left, 8, sizeof a);
  OK(MPI_Recv(in, 3, MPI_INT, left, MPI_ANY_TAG, comm, &status));
  EQ(in[0], 4);
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
}

static void mprobe_takes(void) {
  MPI_Request request[2];
  MPI_Message message;
  MPI_Status status;
  int a = 1, b = 2, in = 0, flag = 0;
  OK(MPI_Isend(&a, 1, MPI_INT, right, 0, comm, &request[0]));
  OK(MPI_Isend(&b, 1, MPI_INT, right, 0, comm, &request[1]));
  while (!flag) OK(MPI_Improbe(left, 0, comm, &flag, &message, &status));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));  // not the matched one
  EQ(in, b);
  OK(MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
  EQ(in, a);
  CHECK(message == MPI_MESSAGE_NULL, "Mrecv left the message handle");
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
}

static void improbe_nothing(void) {
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  int flag = 7;
  OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, MPI_STATUS_IGNORE));
  EQ(flag, 0);
}

static void probe_proc_null(void) {
  MPI_Status status = dirty();
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request request;
  int flag = 0, in = 5;
  OK(MPI_Iprobe(MPI_PROC_NULL, 3, comm, &flag, &status));
  EQ(flag, 1);
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Mprobe(MPI_PROC_NULL, 3, comm, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC, "the message of MPI_PROC_NULL is not MPI_MESSAGE_NO_PROC");
  OK(MPI_Imrecv(&in, 1, MPI_INT, &message, &request));
  status = dirty();
  OK(MPI_Wait(&request, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  EQ(in, 5);
  CHECK(message == MPI_MESSAGE_NULL, "Imrecv left the message handle");
}

static void cancel_receive(void) {
  MPI_Request request;
  MPI_Status status;
  int in = -1, cancelled = -1;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, comm, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  EQ(cancelled, 1);
  OK(MPI_Barrier(comm));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &cancelled, 1, MPI_INT, left, 0, comm,
                  MPI_STATUS_IGNORE));  // goes to another receive
  EQ(cancelled, left), EQ(in, -1);
}

static void cancel_either_or(void) {
  MPI_Request request;
  MPI_Status status;
  int in = -1, cancelled = -1;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, comm, &request));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 0, comm));
  OK(MPI_Barrier(comm));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  if (cancelled) OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  EQ(in, left);
}

// --- 3.9: persistent requests
// ----------------------------------------------------------------------
static void persistent_inactive(void) {
  MPI_Request request, list[2];
  MPI_Status status = dirty();
  int in = -1, flag = 0, index = 7, done = 7, which[2];
  OK(MPI_Recv_init(&in, 1, MPI_INT, left, 0, comm, &request));
  OK(MPI_Wait(&request, &status));
  EMPTY(&status);
  OK(MPI_Test(&request, &flag, &status));
  EQ(flag, 1);
  list[0] = request, list[1] = MPI_REQUEST_NULL;
  OK(MPI_Waitany(2, list, &index, &status));
  EQ(index, MPI_UNDEFINED);
  OK(MPI_Testsome(2, list, &done, which, MPI_STATUSES_IGNORE));
  EQ(done, MPI_UNDEFINED);
  flag = 0;
  OK(MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE));
  EQ(flag, 1);
  CHECK(list[0] == request, "waiting for an inactive request took it");
  OK(MPI_Request_free(&request));
}

static void persistent_again(void) {
  MPI_Request request[2];
  MPI_Status status[2];
  int in = -1, out = -1;
  OK(MPI_Recv_init(&in, 1, MPI_INT, left, 0, comm, &request[0]));
  OK(MPI_Send_init(&out, 1, MPI_INT, right, 0, comm, &request[1]));
  for (int round = 0; round < 4; ++round) {
    out = rank * 10 + round;
    OK(MPI_Startall(2, request));
    OK(MPI_Waitall(2, request, status));
    EQ(in, left * 10 + round);
    CHECK(request[0] != MPI_REQUEST_NULL, "a persistent request became null");
    STATUS(&status[0], left, 0, sizeof in);
  }
  OK(MPI_Request_free(&request[0]));
  OK(MPI_Request_free(&request[1]));
}

static void persistent_matches_any(void) {
  MPI_Request request;
  int in = -1;
  OK(MPI_Ssend_init(&rank, 1, MPI_INT, right, 0, comm, &request));
  OK(MPI_Start(&request));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
  EQ(in, left);
}

static void persistent_cancel(void) {
  MPI_Request request;
  MPI_Status status;
  int in = -1, cancelled = -1;
  OK(MPI_Recv_init(&in, 1, MPI_INT, left, 0, comm, &request));
  OK(MPI_Start(&request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  EQ(cancelled, 1);
  OK(MPI_Barrier(comm));
  OK(MPI_Start(&request));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 0, comm));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  EQ(cancelled, 0), EQ(in, left);
  OK(MPI_Request_free(&request));
}

// --- 3.10, 3.11
// ------------------------------------------------------------------------------------
static void sendrecv_with_others(void) {
  MPI_Request request[2];
  int in = -1, other = -1;
  OK(MPI_Irecv(&other, 1, MPI_INT, left, 1, comm, &request[0]));
  OK(MPI_Isend(&rank, 1, MPI_INT, right, 2, comm, &request[1]));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 2, comm, MPI_STATUS_IGNORE));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  EQ(in, left), EQ(other, left);
}

static void replace(void) {
  MPI_Datatype strided;
  MPI_Status status;
  MPI_Request request;
  int data[6];
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &strided));
  OK(MPI_Type_commit(&strided));
  for (int form = 0; form < 2; ++form) {
    for (int i = 0; i < 6; ++i) data[i] = rank * 10 + i;
    if (form == 0) {
      OK(MPI_Sendrecv_replace(data, 1, strided, right, 1, left, 1, comm, &status));
    } else {
      OK(MPI_Isendrecv_replace(data, 1, strided, right, 1, left, 1, comm, &request));
      OK(MPI_Wait(&request, &status));
    }
    STATUS(&status, left, 1, 3 * sizeof(int));
    for (int i = 0; i < 6; ++i) EQ(data[i], (i % 2 ? rank : left) * 10 + i);
  }
  OK(MPI_Type_free(&strided));
}

static void proc_null(void) {
  MPI_Status status = dirty();
  MPI_Request request[2];
  int in = 5;
  OK(MPI_Send(&in, 1, MPI_INT, MPI_PROC_NULL, 0, comm));
  OK(MPI_Ssend(&in, 1, MPI_INT, MPI_PROC_NULL, 0, comm));
  OK(MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  EQ(in, 5);
  OK(MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &request[0]));
  OK(MPI_Issend(&in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &request[1]));
  status = dirty();
  OK(MPI_Wait(&request[0], &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, comm,
                  MPI_STATUS_IGNORE));
  EQ(in, 5);
}

static const Rule table[] = {
    {"3.2.5-count-undefined", count_undefined,
     "Get_count returns MPI_UNDEFINED if what came is no whole number of elements"},
    {"3.2.5-count-of-empty-type", count_of_empty_type,
     "for a type of size zero Get_count is 0 if nothing came, else MPI_UNDEFINED"},
    {"3.2.5-status-error-kept", status_error_kept,
     "a call that returns one status does not set its MPI_ERROR field"},
    {"3.2.5-status-accessors", status_accessors,
     "Status_get_source, _tag and _error return the fields, also after Status_set_error"},
    {"3.2.4-shorter-message", shorter_message,
     "of a message shorter than the receive buffer only its own locations are changed"},
    {"3.2.4-truncated", truncated,
     "a message longer than the buffer is an error, and nothing behind the buffer is written"},
    {"3.3.1-type-signature", typed_matching,
     "the types of sender and receiver need the same signature, not the same layout"},
    {"3.5-order", order, "messages of one sender that match the same receive do not overtake"},
    {"3.5-order-of-receives", order_of_receives,
     "a message that matches two receives goes to the one posted first"},
    {"3.5-order-over-modes", order_over_modes,
     "the order holds whatever the mode and the length of the messages"},
    {"3.2.3-contexts-apart", communicators_apart,
     "a message is received in the communicator it was sent in only"},
    {"3.4-synchronous", synchronous,
     "a synchronous send completes only when the matching receive has started"},
    {"3.4-buffered-is-local", buffered_is_local,
     "a buffered send completes without a receive; detach waits and gives back what was attached"},
    {"3.6-buffer-too-small", buffer_too_small, "a buffered send without space is an error"},
    {"3.6-buffer-automatic", buffer_automatic,
     "with MPI_BUFFER_AUTOMATIC there is always space; detach returns that constant"},
    {"3.6-buffer-flush", buffer_flush,
     "a flush completes when the buffered messages are delivered; the buffer stays attached"},
    {"3.7.3-wait-null", wait_null, "Wait, Test and Request_get_status of a null request: empty"},
    {"3.7.3-send-status", send_status, "a completed send was not cancelled, its handle is null"},
    {"3.7.3-free-active", free_active, "a freed active request's communication goes on"},
    {"3.7.5-waitany-null", waitany_null,
     "Waitany and Testany of no active request: MPI_UNDEFINED, flag true, an empty status"},
    {"3.7.5-waitsome-null", waitsome_null,
     "Waitsome and Testsome of no active request: outcount MPI_UNDEFINED"},
    {"3.7.5-testsome-none", testsome_none,
     "Testsome without a completed request: outcount 0; Testany: flag false, MPI_UNDEFINED"},
    {"3.7.5-testall-nothing-changed", testall_nothing_changed,
     "a Testall that returns false modifies no request"},
    {"3.7.5-in-status", waitall_in_status,
     "if one of several fails, the call returns MPI_ERR_IN_STATUS and each status has its code"},
    {"3.7.6-get-status-keeps", get_status_keeps,
     "Request_get_status does not deallocate; a later Test returns the same status"},
    {"3.8.1-probe", probe_then_receive,
     "a receive after Probe with the same source and tag gets the message that was probed"},
    {"3.8.2-mprobe-takes", mprobe_takes, "a message matched by Mprobe is received by Mrecv only"},
    {"3.8.2-improbe-nothing", improbe_nothing, "Improbe without a message: flag false"},
    {"3.8.2-probe-proc-null", probe_proc_null,
     "a probe of MPI_PROC_NULL finds MPI_MESSAGE_NO_PROC, which is received without data"},
    {"3.8.4-cancel-receive", cancel_receive,
     "a cancelled receive completes, says so and takes no message"},
    {"3.8.4-cancel-either-or", cancel_either_or,
     "either the cancel succeeds or the communication does, never both"},
    {"3.9-inactive", persistent_inactive,
     "completion calls on an inactive persistent request return at once, empty, and keep it"},
    {"3.9-start-again", persistent_again,
     "a persistent request becomes inactive on completion and can be started again"},
    {"3.9-matches-any", persistent_matches_any,
     "what a persistent request sends can be received by any receive"},
    {"3.9-cancel", persistent_cancel, "a cancelled persistent request can be started again"},
    {"3.10-sendrecv-matches-any", sendrecv_with_others,
     "Sendrecv's messages can be received and sent by other calls"},
    {"3.10-replace", replace, "Sendrecv_replace sends and receives from the same typed buffer"},
    {"3.11-proc-null", proc_null,
     "MPI_PROC_NULL: at once, no data; source MPI_PROC_NULL, tag MPI_ANY_TAG, count 0"},
};
RULES(table)
