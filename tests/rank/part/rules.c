// SPDX-License-Identifier: Apache-2.0
// What the standard says beside the data: matching in the order of the init calls, apart from other
// messages; no data, MPI_PROC_NULL; the receiver late or early; a pair that is never started; what
// is wrong is refused, and does no harm.
#include "../check.h"

enum { tag = 3, parts = 4 };

static int class_of(int code) {
  int cls = -1;
  MPI_Error_class(code, &cls);
  return cls;
}
#define FAILS(call, cls) EQ(class_of(call), (cls))

static void ready_all(MPI_Request request) {
  OK(MPI_Pready_range(0, parts - 1, request));
}

// Three pairs with one tag, beside ordinary messages with the same one; started in another order.
static void order(MPI_Comm comm) {
  int out[3][parts], in[3][parts], plain = -1, mine = rank;
  MPI_Request send[3], recv[3], other[2];
  for (int i = 0; i < 3; ++i) {
    for (int p = 0; p < parts; ++p) out[i][p] = rank * 100 + i * 10 + p, in[i][p] = -1;
    OK(MPI_Psend_init(out[i], parts, 1, MPI_INT, right_of(rank), tag, comm, MPI_INFO_NULL,
                      &send[i]));
  }
  OK(MPI_Irecv(&plain, 1, MPI_INT, left_of(rank), tag, comm, &other[0]));
  for (int i = 0; i < 3; ++i)
    OK(MPI_Precv_init(in[i], parts, 1, MPI_INT, left_of(rank), tag, comm, MPI_INFO_NULL, &recv[i]));
  const int turn[] = {2, 0, 1};
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Start(&send[turn[i]]));
    ready_all(send[turn[i]]);
    OK(MPI_Start(&recv[i]));
  }
  OK(MPI_Isend(&mine, 1, MPI_INT, right_of(rank), tag, comm, &other[1]));
  OK(MPI_Waitall(2, other, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(3, send, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(3, recv, MPI_STATUSES_IGNORE));
  EQ(plain, left_of(rank));
  for (int i = 0; i < 3; ++i) {
    for (int p = 0; p < parts; ++p) EQ(in[i][p], left_of(rank) * 100 + i * 10 + p);
    OK(MPI_Request_free(&send[i]));
    OK(MPI_Request_free(&recv[i]));
  }
}

static void nothing(void) {
  int flag = 0, buffer[4] = {7, 7, 7, 7};
  MPI_Status status;
  MPI_Request request[2];
  OK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag));
  EQ(flag, 1);
  // No elements; more partitions at one side.
  OK(MPI_Precv_init(buffer, 2, 0, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request[0]));
  OK(MPI_Psend_init(buffer, parts, 0, MPI_INT, right_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request[1]));
  OK(MPI_Startall(2, request));
  ready_all(request[1]);
  OK(MPI_Wait(&request[0], &status));
  STATUS(&status, left_of(rank), tag, 0);
  OK(MPI_Wait(&request[1], &status));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&request[i]));
  // No partitions.
  OK(MPI_Precv_init(buffer, 0, 1, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request[0]));
  OK(MPI_Psend_init(buffer, 0, 1, MPI_INT, right_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request[1]));
  OK(MPI_Startall(2, request));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&request[i]));
  // Nobody.
  OK(MPI_Precv_init(buffer, parts, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request[0]));
  OK(MPI_Psend_init(buffer, parts, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &request[1]));
  for (int round = 0; round < 2; ++round) {
    OK(MPI_Startall(2, request));
    OK(MPI_Parrived(request[0], 1, &flag));
    EQ(flag, 1);
    OK(MPI_Wait(&request[0], &status));
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    OK(MPI_Test(&request[1], &flag, &status));
    EQ(flag, 0);
    ready_all(request[1]);
    OK(MPI_Wait(&request[1], &status));
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&request[i]));
  EQ(buffer[0], 7);
}

// The receiver comes to its init call late; a pair that is freed without a start stays matched.
static void late(void) {
  int out[parts], in[parts];
  MPI_Request unused[2], send, recv;
  OK(MPI_Psend_init(out, parts, 1, MPI_INT, right_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &unused[0]));
  OK(MPI_Precv_init(in, 1, parts, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &unused[1]));
  OK(MPI_Request_free(&unused[1]));
  OK(MPI_Request_free(&unused[0]));
  OK(MPI_Psend_init(out, parts, 1, MPI_INT, right_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &send));
  for (int i = 0; i < parts; ++i) out[i] = rank * 10 + i, in[i] = -1;
  OK(MPI_Start(&send));
  ready_all(send);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Precv_init(in, 1, parts, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &recv));
  OK(MPI_Start(&recv));
  OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  for (int i = 0; i < parts; ++i) EQ(in[i], left_of(rank) * 10 + i);
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&recv));
}

static void wrong(MPI_Comm comm) {
  int out[parts] = {1, 2, 3, 4}, in[parts] = {0}, flag = 0;
  const int twice[] = {1, 2, 0}, beyond[] = {1, parts};
  MPI_Request send, recv, plain;
  FAILS(MPI_Psend_init(out, -1, 1, MPI_INT, right_of(rank), tag, comm, MPI_INFO_NULL, &send),
        MPI_ERR_ARG);
  FAILS(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, MPI_INFO_NULL, &recv),
        MPI_ERR_RANK);
  FAILS(MPI_Precv_init(in, 1, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_INFO_NULL, &recv), MPI_ERR_TAG);
  FAILS(MPI_Psend_init_c(out, 1 << 30, (MPI_Count)1 << 40, MPI_INT, 0, tag, comm, MPI_INFO_NULL,
                         &send),
        MPI_ERR_COUNT);
  OK(MPI_Psend_init(out, parts, 1, MPI_INT, right_of(rank), tag, comm, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(in, parts, 1, MPI_INT, left_of(rank), tag, comm, MPI_INFO_NULL, &recv));
  OK(MPI_Send_init(out, 1, MPI_INT, right_of(rank), tag, comm, &plain));
  FAILS(MPI_Pready(0, send), MPI_ERR_REQUEST);  // not active
  OK(MPI_Start(&recv));
  FAILS(MPI_Cancel(&recv), MPI_ERR_REQUEST);
  OK(MPI_Barrier(comm));  // from here on it may be complete
  OK(MPI_Start(&send));
  FAILS(MPI_Start(&send), MPI_ERR_REQUEST);
  FAILS(MPI_Pready(0, recv), MPI_ERR_REQUEST);
  FAILS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
  FAILS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(recv, parts, &flag), MPI_ERR_ARG);
  FAILS(MPI_Pready(parts, send), MPI_ERR_ARG);
  FAILS(MPI_Pready(-1, send), MPI_ERR_ARG);
  FAILS(MPI_Pready_range(2, 1, send), MPI_ERR_ARG);
  FAILS(MPI_Pready_range(2, parts, send), MPI_ERR_ARG);
  FAILS(MPI_Pready_list(2, beyond, send), MPI_ERR_ARG);
  OK(MPI_Pready(1, send));
  FAILS(MPI_Pready(1, send), MPI_ERR_ARG);
  FAILS(MPI_Pready_list(3, twice, send), MPI_ERR_ARG);
  FAILS(MPI_Request_free(&send), MPI_ERR_REQUEST);
  OK(MPI_Pready_range(2, 3, send));
  OK(MPI_Pready(0, send));
  OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  for (int i = 0; i < parts; ++i) EQ(in[i], i + 1);
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&recv));
  OK(MPI_Request_free(&plain));
  // Too little room: an error at the receiver, and the sender goes on.
  OK(MPI_Psend_init(out, parts, 1, MPI_INT, right_of(rank), tag, comm, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(in, 1, 2, MPI_INT, left_of(rank), tag, comm, MPI_INFO_NULL, &recv));
  OK(MPI_Start(&recv));
  OK(MPI_Start(&send));
  ready_all(send);
  FAILS(MPI_Wait(&recv, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&recv));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  order(MPI_COMM_WORLD);
  nothing();
  late();
  wrong(comm);
  order(comm);
  OK(MPI_Comm_free(&comm));
  return finish();
}
