// SPDX-License-Identifier: Apache-2.0
// Wrong arguments: the right error class, a sentence that names the call, the rank, the argument
// and what was passed, and no harm: the communicator works afterwards.
#include "../check.h"

static int calls_of_handler = 0, code_of_handler = 0;

static void handler(MPI_Comm* comm, int* code, ...) {
  ++calls_of_handler;
  code_of_handler = *code;
  CHECK(*comm == MPI_COMM_WORLD, "the handler got another communicator");
}

static void wrong_(int line, int code, int class, const char* words) {
  char text[MPI_MAX_ERROR_STRING + 1] = "", who[32];
  int length = 0, got = -1;
  ++checks;
  OK(MPI_Error_string(code, text, &length));
  OK(MPI_Error_class(code, &got));
  if (got != class) fail_(__FILE__, line, "class %d (%s), expected %d", got, text, class);
  snprintf(who, sizeof who, "on rank %d", rank);
  if (!strstr(text, words)) fail_(__FILE__, line, "'%s' does not say '%s'", text, words);
  if (!strstr(text, who)) fail_(__FILE__, line, "'%s' does not say '%s'", text, who);
  if (!strstr(text, "MPI_")) fail_(__FILE__, line, "'%s' does not name the call", text);
}
#define WRONG(call, class, words) wrong_(__LINE__, (call), (class), (words))

static void point_to_point(void) {
  int x = 0, flag;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  WRONG(MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest is ");
  WRONG(MPI_Send(&x, 1, MPI_INT, -7, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest is -7");
  WRONG(MPI_Send(&x, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -1");
  WRONG(MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG, "MPI_ANY_TAG");
  WRONG(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
  WRONG(MPI_Send_c(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPI_Send_c");
  WRONG(MPI_Send(NULL, 3, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buf is a null pointer");
  WRONG(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
        "MPI_DATATYPE_NULL");
  WRONG(MPI_Recv(&x, 1, MPI_INT, size + 3, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK, "source is");
  WRONG(MPI_Recv(&x, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, &status), MPI_ERR_TAG, "tag is -9");
  WRONG(MPI_Isend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG,
        "request is a null pointer");
  WRONG(MPI_Irecv(NULL, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER, "MPI_Irecv");
  WRONG(MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &x, -2, MPI_INT, 0, 0, MPI_COMM_WORLD, &status),
        MPI_ERR_COUNT, "recvcount is -2");
  WRONG(MPI_Probe(size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK, "MPI_Probe");
  WRONG(MPI_Iprobe(0, -8, MPI_COMM_WORLD, &flag, &status), MPI_ERR_TAG, "tag is -8");
}

static void types_and_handles(void) {
  int x[2] = {0, 0}, n = 0;
  MPI_Datatype pair;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  WRONG(MPI_Send(x, 1, pair, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Type_commit");
  OK(MPI_Type_commit(&pair));
  MPI_Datatype gone = pair;
  OK(MPI_Type_free(&pair));
  CHECK(pair == MPI_DATATYPE_NULL, "MPI_Type_free leaves the handle");
  WRONG(MPI_Send(x, 1, gone, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "freed");
  WRONG(MPI_Send(x, 1, (MPI_Datatype)MPI_SUM, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
        "datatype is MPI_SUM");
  WRONG(MPI_Send(x, 1, (MPI_Datatype)(void*)x, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
        "no handle of this process");
  WRONG(MPI_Type_contiguous(-1, MPI_INT, &pair), MPI_ERR_COUNT, "count is -1");
  WRONG(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM, "comm is MPI_COMM_NULL");
  WRONG(MPI_Comm_size((MPI_Comm)MPI_INT, &n), MPI_ERR_COMM, "comm is MPI_INT");
  WRONG(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "rank is a null pointer");
  WRONG(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP, "MPI_GROUP_NULL");
  MPI_Request junk = (MPI_Request)(void*)x;
  WRONG(MPI_Wait(&junk, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "request is");
  MPI_Request none = MPI_REQUEST_NULL;
  WRONG(MPI_Start(&none), MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
  WRONG(MPI_Waitall(-1, &none, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "count is -1");
}

static void collectives(void) {
  int x = 1, y = 0, counts[64], displs[64];
  double d = 1, e = 0;
  for (int i = 0; i < size; ++i) counts[i] = displs[i] = 0;
  counts[size - 1] = -4;
  WRONG(MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT, "root is");
  WRONG(MPI_Bcast(&x, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
  WRONG(MPI_Allreduce(&d, &e, 1, MPI_DOUBLE, MPI_BXOR, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_BXOR");
  WRONG(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP,
        "op is MPI_OP_NULL");
  WRONG(MPI_Allreduce(&x, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  WRONG(MPI_Allgatherv(&x, 0, MPI_INT, &y, counts, displs, MPI_INT, MPI_COMM_WORLD), MPI_ERR_COUNT,
        "is -4");
  WRONG(MPI_Gather(NULL, 1, MPI_INT, &y, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER,
        "sendbuf is a null pointer");
  WRONG(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Barrier");
  // What is not significant beside the root is not looked at there.
  int sum = 0;
  OK(MPI_Reduce(&x, rank == 0 ? &sum : NULL, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0) EQ(sum, size);
  int all[64];
  OK(MPI_Gather(&rank, 1, MPI_INT, rank == 0 ? all : NULL, rank == 0 ? 1 : -5,
                rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
}

static void handlers(void) {
  MPI_Errhandler mine, before;
  int x = 0;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
  OK(MPI_Comm_create_errhandler(handler, &mine));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
  EQ(MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  EQ(calls_of_handler, 1);
  EQ(code_of_handler, MPI_ERR_RANK);
  EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER), MPI_SUCCESS);
  EQ(calls_of_handler, 2);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
  OK(MPI_Errhandler_free(&mine));
  OK(MPI_Errhandler_free(&before));
}

static void not_yet(void) {
  MPI_File file = MPI_FILE_NULL;
  WRONG(MPI_File_open(MPI_COMM_SELF, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
        MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_open is not implemented");
  WRONG(MPI_File_open(MPI_COMM_SELF, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
        MPI_ERR_UNSUPPORTED_OPERATION, "weft docs coverage");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  point_to_point();
  types_and_handles();
  collectives();
  handlers();
  not_yet();
  int one = 1, sum = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EQ(sum, size);
  return finish();
}
