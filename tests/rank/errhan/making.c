// SPDX-License-Identifier: Apache-2.0
// Calls that make a communicator or session with an error handler of its own: their errors go to
// that handler (MPI-5.0 sections 7.4.2, 11.3.1), before MPI_Init too, and whatever the predefined
// communicators have.
#include "../check.h"

static int calls_of_handler, code_of_handler;

static void comm_failed(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++calls_of_handler;
  code_of_handler = *code;
}
static void session_failed(MPI_Session* session, int* code, ...) {
  (void)session;
  ++calls_of_handler;
  code_of_handler = *code;
}

static void wrong_(int line, int code, int class, int before, int calls) {
  int got = -1;
  ++checks;
  if (code == MPI_SUCCESS) fail_(__FILE__, line, "succeeded with wrong arguments");
  OK(MPI_Error_class(code, &got));
  if (class != MPI_SUCCESS && got != class)
    fail_(__FILE__, line, "class %d, expected %d", got, class);
  if (calls_of_handler - before != calls || (calls > 0 && code_of_handler != code))
    fail_(__FILE__, line, "the handler was called %d times, expected %d, with %d for %d",
          calls_of_handler - before, calls, code_of_handler, code);
}
// `calls` of the own handler.
#define WRONG(call, class, calls)                     \
  do {                                                \
    const int before = calls_of_handler;              \
    wrong_(__LINE__, (call), (class), before, calls); \
  } while (0)

// A session from an info that is none.
static void sessions(void) {
  const MPI_Info no_info = (MPI_Info)MPI_COMM_WORLD;
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Errhandler mine;
  WRONG(MPI_Session_init(no_info, MPI_ERRORS_RETURN, &session), MPI_SUCCESS, 0);
  OK(MPI_Session_create_errhandler(session_failed, &mine));
  WRONG(MPI_Session_init(no_info, mine, &session), MPI_SUCCESS, 1);
  OK(MPI_Errhandler_free(&mine));
}

// MPI_COMM_WORLD and MPI_COMM_SELF have MPI_ERRORS_ARE_FATAL.
static void communicators(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group group;
  MPI_Errhandler mine;
  OK(MPI_Comm_create_errhandler(comm_failed, &mine));
  OK(MPI_Comm_group(MPI_COMM_SELF, &group));
  WRONG(MPI_Comm_create_from_group(MPI_GROUP_NULL, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
        MPI_ERR_GROUP, 0);
  WRONG(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, mine, &comm), MPI_ERR_ARG, 1);
  WRONG(MPI_Intercomm_create_from_groups(group, 1, group, 0, "b", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                         &comm),
        MPI_ERR_RANK, 0);
  WRONG(MPI_Intercomm_create_from_groups(group, 0, group, 0, "b", MPI_INFO_NULL, mine, &comm),
        MPI_ERR_COMM, 1);
  CHECK(comm == MPI_COMM_NULL, "a communicator was made");
  OK(MPI_Group_free(&group));
  OK(MPI_Errhandler_free(&mine));
}

int main(int argc, char** argv) {
  sessions();
  start(&argc, &argv);
  communicators();
  sessions();
  OK(MPI_Finalize());
  sessions();
  return verdict();
}
