// SPDX-License-Identifier: Apache-2.0
// Errors of calls without a communicator (MPI-5.0 §9.3) go to MPI_COMM_SELF's handler. As long as
// that is MPI_ERRORS_ARE_FATAL they go to MPI_COMM_WORLD's, where MPI-3.1 sent them.
#include "../check.h"

static int calls;
static MPI_Comm last_comm;
static void note(MPI_Comm* comm, int* code, ...) {
  (void)code;
  ++calls;
  last_comm = *comm;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm gone, copy;
  MPI_Datatype type;
  int class = -1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Error_class(MPI_Type_contiguous(-1, MPI_INT, &type), &class));
  EQ(class, MPI_ERR_COUNT);
  OK(MPI_Error_class(MPI_Group_size(MPI_GROUP_NULL, &class), &class));
  EQ(class, MPI_ERR_GROUP);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &gone));
  copy = gone;
  OK(MPI_Comm_free(&gone));
  OK(MPI_Error_class(MPI_Barrier(copy), &class));  // a handle that is no object any more
  EQ(class, MPI_ERR_COMM);
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  MPI_Type_contiguous(-1, MPI_INT, &type);
  EQ(calls, 1);
  CHECK(last_comm == MPI_COMM_SELF, "the handler was called for another communicator");
  OK(MPI_Errhandler_free(&handler));
  return finish();
}
