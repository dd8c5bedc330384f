// SPDX-License-Identifier: Apache-2.0
// Error handlers: made, set, got, inherited, called with the communicator and the code, freed while
// in use.
#include "../check.h"

static int calls, last_code;
static MPI_Comm last_comm;
static void note(MPI_Comm* comm, int* code, ...) {
  ++calls;
  last_comm = *comm;
  last_code = *code;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Errhandler handler, got;
  MPI_Comm comm, copy;
  int value = 1, class = 0;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
  CHECK(got == MPI_ERRORS_ARE_FATAL, "the world does not begin with MPI_ERRORS_ARE_FATAL");
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_get_errhandler(comm, &got));
  CHECK(got == handler, "get_errhandler gave another handler");
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL, "Errhandler_free left the handle as it was");
  int code = MPI_Send(&value, -1, MPI_INT, 0, 0, comm);  // the handler lives on in the communicator
  EQ(calls, 1);
  CHECK(last_comm == comm, "the handler was called for another communicator");
  OK(MPI_Error_class(last_code, &class));
  EQ(class, MPI_ERR_COUNT);
  // After a handler of the user the call may return success (the handler has dealt with it) or the
  // same code.
  CHECK(code == MPI_SUCCESS || code == last_code, "the call returned %d, the handler got %d", code,
        last_code);
  OK(MPI_Comm_dup(comm, &copy));  // inherits
  code = MPI_Send(&value, 1, MPI_INT, size + 1, 0, copy);
  EQ(calls, 2);
  CHECK(last_comm == copy, "the inherited handler was called for another communicator");
  OK(MPI_Comm_call_errhandler(copy, MPI_ERR_TOPOLOGY));
  EQ(calls, 3);
  OK(MPI_Error_class(last_code, &class));
  EQ(class, MPI_ERR_TOPOLOGY);
  OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  code = MPI_Send(&value, 1, MPI_INT, size + 1, 0, copy);
  EQ(calls, 3);
  OK(MPI_Error_class(code, &class));
  EQ(class, MPI_ERR_RANK);
  // An error inside an operation, found when it completes, goes to the communicator's handler too.
  int in = 0, out[2] = {1, 2};
  MPI_Request request;
  OK(MPI_Irecv(&in, 1, MPI_INT, rank, 1, comm, &request));
  OK(MPI_Send(out, 2, MPI_INT, rank, 1, comm));
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  EQ(calls, 4);
  OK(MPI_Error_class(last_code, &class));
  EQ(class, MPI_ERR_TRUNCATE);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free(&copy));
  return finish();
}
