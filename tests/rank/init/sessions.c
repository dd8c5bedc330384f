// SPDX-License-Identifier: Apache-2.0
// Sessions: MPI without MPI_Init; process sets, groups and communicators from them, buffers of a
// session, info, handlers, several sessions at once and one after the other.
#include "../check.h"

static void use(MPI_Session session, const char* set, const char* tag, int want_world) {
  MPI_Group group;
  MPI_Comm comm;
  int me = -1, all = -1, sum = 0, one = 1;
  OK(MPI_Group_from_session_pset(session, set, &group));
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &all));
  if (want_world) rank = me, size = all;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  EQ(sum, all);
  if (!want_world) {
    EQ(me, 0);
    EQ(all, 1);
  }
  int got = -1;
  OK(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % all, 2, &got, 1, MPI_INT, (me + all - 1) % all, 2,
                  comm, MPI_STATUS_IGNORE));
  EQ(got, (me + all - 1) % all);
  // A buffer of the session serves its communicators.
  void* back = NULL;
  int bytes = 0;
  OK(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0));
  OK(MPI_Bsend(&me, 1, MPI_INT, (me + 1) % all, 3, comm));
  OK(MPI_Recv(&got, 1, MPI_INT, (me + all - 1) % all, 3, comm, MPI_STATUS_IGNORE));
  EQ(got, (me + all - 1) % all);
  OK(MPI_Session_flush_buffer(session));
  OK(MPI_Session_detach_buffer(session, &back, &bytes));
  CHECK(back == MPI_BUFFER_AUTOMATIC, "Session_detach_buffer gave %p", back);
  OK(MPI_Comm_free(&comm));
}

int main(void) {
  MPI_Session session, second;
  int sets = 0, world = 0, self = 0, flag = 1;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Initialized(&flag));
  EQ(flag, 0);  // that is about the world model only
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
  CHECK(sets >= 2, "%d process sets, expected at least 2", sets);
  for (int i = 0; i < sets; ++i) {
    char name[MPI_MAX_PSET_NAME_LEN];
    int length = 0, size_flag = 0;
    char value[20];
    MPI_Info info;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL));
    CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN, "process set %d has a name of length %d",
          i, length);
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    world += strcmp(name, "mpi://WORLD") == 0;
    self += strcmp(name, "mpi://SELF") == 0;
    OK(MPI_Session_get_pset_info(session, name, &info));
    OK(MPI_Info_get(info, "mpi_size", 19, value, &size_flag));
    EQ(size_flag, 1);
    CHECK(atoi(value) > 0, "the size of %s is '%s'", name, value);
    OK(MPI_Info_free(&info));
  }
  EQ(world, 1);
  EQ(self, 1);
  use(session, "mpi://WORLD", "weft.test.a", 1);
  use(session, "mpi://SELF", "weft.test.b", 0);
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
  use(second, "mpi://WORLD", "weft.test.c", 1);
  OK(MPI_Session_finalize(&second));
  CHECK(second == MPI_SESSION_NULL, "Session_finalize left the handle as it was");
  use(session, "mpi://WORLD", "weft.test.d", 1);
  OK(MPI_Session_finalize(&session));
  // A session after all are gone.
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  use(session, "mpi://WORLD", "weft.test.e", 1);
  OK(MPI_Session_finalize(&session));
  return verdict();
}
