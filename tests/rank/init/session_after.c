// SPDX-License-Identifier: Apache-2.0
// A program of the world model that opens its first session late: while the model is there, with
// more threads than that asked for, or after MPI_Finalize. And ranks that never use MPI do not harm
// those that open sessions of their own.
#include <dirent.h>

#include "../check.h"

static void one(const char* set, const char* tag) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int all = 0, count = 1, got = 0;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Group_from_session_pset(session, set, &group));
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Comm_size(comm, &all));
  OK(MPI_Allreduce(&count, &got, 1, MPI_INT, MPI_SUM, comm));
  EQ(got, all);
  char large[100000] = {0}, in[100000];
  int me = 0;
  OK(MPI_Comm_rank(comm, &me));
  fill(large, sizeof large, (unsigned)me);
  OK(MPI_Sendrecv(large, sizeof large, MPI_BYTE, (me + 1) % all, 1, in, sizeof in, MPI_BYTE,
                  (me + all - 1) % all, 1, comm, MPI_STATUS_IGNORE));
  FILLED(in, sizeof in, (unsigned)((me + all - 1) % all));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_free(&group));
  OK(MPI_Session_finalize(&session));
}

static int descriptors(void) {
  int n = 0;
  DIR* all = opendir("/proc/self/fd");
  if (all == NULL) DIE("cannot look at /proc/self/fd");
  while (readdir(all) != NULL) ++n;
  closedir(all);
  return n;
}

// All ranks but the first leave at once; it uses itself alone.
static int alone(void) {
  const char* number = getenv("WEFT_RANK");
  if (number != NULL && atoi(number) != 0) return 0;
  rank = 0;
  size = number != NULL ? atoi(getenv("WEFT_SIZE")) : 1;
  one("mpi://SELF", "weft.test.alone");
  const int before = descriptors();
  for (int i = 0; i < 50; ++i) one("mpi://SELF", "weft.test.alone");
  if (size == 1) EQ(descriptors(), before);  // else other ranks of the process may close theirs
  return verdict();
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "alone") == 0) return alone();
  start(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "during") == 0) {
    MPI_Session session;
    MPI_Info info;
    char value[40] = "";
    int flag = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_get_info(session, &info));
    OK(MPI_Info_get(info, "thread_level", 39, value, &flag));
    OK(MPI_Info_free(&info));
    if (getenv("TEST_NODES") == NULL)
      CHECK(strcmp(value, "MPI_THREAD_MULTIPLE") == 0, "thread_level is %s", value);
    one("mpi://WORLD", "weft.test.during");
    OK(MPI_Session_finalize(&session));
    one("weft://node", "weft.test.during.2");
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Finalize());
  for (int i = 0; i < 5; ++i) one("mpi://WORLD", "weft.test.after");
  one("weft://socket", "weft.test.after.socket");
  return verdict();
}
