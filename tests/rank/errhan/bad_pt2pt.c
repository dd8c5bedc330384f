// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of point-to-point calls: class and sentence of each, and nothing was sent or
// broken by them.
#include "bad.h"

static void sends_and_receives(void) {
  int value = 1, flag;
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request;
  MPI_Status status;
  MPI_Message message;
  char above[20], far[20];
  snprintf(far, sizeof far, "%d", size + 3);
  BAD(MPI_Send(&value, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT, "-1", "count");
  BAD(MPI_Send_c(&value, -7, MPI_INT, 0, 0, world), MPI_ERR_COUNT, "-7", "count");
  BAD(MPI_Send(NULL, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER, "null", "buf");
  BAD(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, world), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
  BAD(MPI_Send(&value, 1, MPI_INT, size + 3, 0, world), MPI_ERR_RANK, far, "dest");
  BAD(MPI_Send(&value, 1, MPI_INT, -9, 0, world), MPI_ERR_RANK, "-9", "dest");
  BAD(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK, "MPI_ANY_SOURCE");
  BAD(MPI_Send(&value, 1, MPI_INT, 0, -5, world), MPI_ERR_TAG, "-5", "tag");
  BAD(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG, "MPI_ANY_TAG");
  BAD(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_COMM_NULL");
  BAD(MPI_Ssend(&value, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT, "-1");
  BAD(MPI_Rsend(&value, 1, MPI_INT, size, 0, world), MPI_ERR_RANK, "dest");
  BAD(MPI_Bsend(&value, 1, MPI_INT, 0, -2, world), MPI_ERR_TAG, "-2");
  BAD(MPI_Isend(&value, -3, MPI_INT, 0, 0, world, &request), MPI_ERR_COUNT, "-3");
  BAD(MPI_Isend(&value, 1, MPI_INT, 0, 0, world, NULL), MPI_ERR_ARG, "request", "null");
  BAD(MPI_Issend(NULL, 4, MPI_INT, 0, 0, world, &request), MPI_ERR_BUFFER, "null");
  BAD(MPI_Send_init(&value, 1, MPI_INT, size, 0, world, &request), MPI_ERR_RANK, "dest");
  BAD(MPI_Recv(&value, -1, MPI_INT, 0, 0, world, &status), MPI_ERR_COUNT, "-1");
  BAD(MPI_Recv(NULL, 1, MPI_INT, 0, 0, world, &status), MPI_ERR_BUFFER, "null");
  BAD(MPI_Recv(&value, 1, MPI_INT, size, 0, world, &status), MPI_ERR_RANK, "source");
  BAD(MPI_Recv(&value, 1, MPI_INT, 0, -8, world, &status), MPI_ERR_TAG, "-8");
  BAD(MPI_Irecv(&value, 1, MPI_INT, -77, 0, world, &request), MPI_ERR_RANK, "-77");
  BAD(MPI_Probe(size + 1, 0, world, &status), MPI_ERR_RANK, "source");
  BAD(MPI_Iprobe(0, -4, world, &flag, &status), MPI_ERR_TAG, "-4");
  BAD(MPI_Mprobe(0, 0, MPI_COMM_NULL, &message, &status), MPI_ERR_COMM, "MPI_COMM_NULL");
  BAD(MPI_Sendrecv(&value, 1, MPI_INT, size, 0, &flag, 1, MPI_INT, 0, 0, world, &status),
      MPI_ERR_RANK, "dest");
  BAD(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &flag, -1, MPI_INT, 0, 0, world, &status),
      MPI_ERR_COUNT, "-1");
  BAD(MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, -1 - 1, 0, 0, world, &status), MPI_ERR_TAG, "-2");
  int* upper = NULL;
  OK(MPI_Comm_get_attr(world, MPI_TAG_UB, &upper, &flag));
  if (upper && *upper < INT32_MAX) {
    snprintf(above, sizeof above, "%d", *upper + 1);
    BAD(MPI_Send(&value, 1, MPI_INT, 0, *upper + 1, world), MPI_ERR_TAG, above);
  }
}

static void types(void) {
  int value = 1;
  MPI_Datatype open, gone;
  OK(MPI_Type_contiguous(1, MPI_INT, &open));
  BAD(MPI_Send(&value, 1, open, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "commit");
  BAD(MPI_Recv(&value, 1, open, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TYPE, "commit");
  OK(MPI_Type_commit(&open));
  gone = open;
  OK(MPI_Type_free(&open));
  if (is_weft) {  // a handle kept after its free: others may crash
    BAD(MPI_Send(&value, 1, gone, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "free");
    BAD(MPI_Send(&value, 1, (MPI_Datatype)MPI_COMM_WORLD, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  }
}

static void communicators(void) {
  int value = 1;
  MPI_Comm comm, gone;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  gone = comm;
  OK(MPI_Comm_free(&comm));
  if (is_weft) {
    BAD(MPI_Send(&value, 1, MPI_INT, 0, 0, gone), MPI_ERR_COMM, "free");
    BAD(MPI_Send(&value, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT), MPI_ERR_COMM);
    BAD(MPI_Barrier(gone), MPI_ERR_COMM, "free");
  }
}

static void requests(void) {
  int value = 1, flag, index;
  MPI_Request request, gone;
  MPI_Status status;
  BAD(MPI_Wait(NULL, &status), MPI_ERR_ARG, "null");
  BAD(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "-1");
  BAD(MPI_Waitany(1, NULL, &index, &status), MPI_ERR_ARG, "null");
  request = MPI_REQUEST_NULL;
  BAD(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
  BAD(MPI_Cancel(&request), MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
  BAD(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
  OK(MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request));
  BAD(MPI_Start(&request), MPI_ERR_REQUEST, "persistent");
  gone = request;
  OK(MPI_Send(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Recv_init(&value, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  BAD(MPI_Start(&request), MPI_ERR_REQUEST, "active");
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Request_free(&request));
  if (is_weft) {
    BAD(MPI_Wait(&gone, &status), MPI_ERR_REQUEST);
    gone = (MPI_Request)MPI_COMM_WORLD;
    BAD(MPI_Test(&gone, &flag, &status), MPI_ERR_REQUEST);
  }
}

static void buffers(void) {
  char room[1000];
  int bytes;
  void* back;
  BAD(MPI_Buffer_attach(room, -1), EITHER(MPI_ERR_ARG, MPI_ERR_COUNT), "-1");
  OK(MPI_Buffer_attach(room, sizeof room));
  BAD(MPI_Buffer_attach(room, sizeof room), MPI_ERR_BUFFER, "attached");
  OK(MPI_Buffer_detach(&back, &bytes));
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  sends_and_receives();
  types();
  communicators();
  requests();
  buffers();
  // All is as before: nothing was sent, and messages still go through.
  int flag = 1, in = -1;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  EQ(flag, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right_of(rank), 0, &in, 1, MPI_INT, left_of(rank), 0,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(in, left_of(rank));
  return finish();
}
