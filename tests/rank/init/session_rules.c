// SPDX-License-Identifier: Apache-2.0
// Sessions beside the world model: before MPI_Init, during it and after MPI_Finalize; many of them;
// process sets; error handlers; buffers; what a finalized session leaves; by several threads.
#include <pthread.h>

#include "../check.h"

enum { many = 200 };

static int class_of(int code) {
  int cls = -1;
  MPI_Error_class(code, &cls);
  return cls;
}
#define FAILS(call, cls) EQ(class_of(call), (cls))

static MPI_Session open_session(MPI_Errhandler handler, const char* level) {
  MPI_Session session;
  MPI_Info info = MPI_INFO_NULL;
  if (level != NULL) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", level));
  }
  OK(MPI_Session_init(info, handler, &session));
  if (level != NULL) OK(MPI_Info_free(&info));
  return session;
}

static MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group;
  MPI_Comm comm;
  OK(MPI_Group_from_session_pset(session, set, &group));
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  return comm;
}

static void sum(MPI_Comm comm) {
  int all = 0, me = 0, got = -1;
  OK(MPI_Comm_size(comm, &all));
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, comm));
  EQ(got, all * (all - 1) / 2);
}

static void modes(int want_initialized, int want_finalized) {
  int flag = -1;
  OK(MPI_Initialized(&flag));
  EQ(flag, want_initialized);
  OK(MPI_Finalized(&flag));
  EQ(flag, want_finalized);
}

static void level_is(MPI_Session session, const char* want) {
  char value[40] = "";
  int flag = 0;
  MPI_Info info;
  OK(MPI_Session_get_info(session, &info));
  OK(MPI_Info_get(info, "thread_level", 39, value, &flag));
  CHECK(flag && strcmp(value, want) == 0, "thread_level is '%s', expected %s", value, want);
  OK(MPI_Info_get(info, "mpi_memory_alloc_kinds", 39, value, &flag));
  CHECK(flag && strstr(value, "system") != NULL, "mpi_memory_alloc_kinds is '%s'", value);
  OK(MPI_Info_free(&info));
}

// Every set has the caller in it, and the members agree.
static void sets(MPI_Session session) {
  int n = 0;
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  EQ(n, 4);
  int sizes[4];
  for (int i = 0; i < n; ++i) {
    char name[MPI_MAX_PSET_NAME_LEN], part[6], tag[40];
    int length = (int)sizeof part, me = -1;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, part));
    EQ(strlen(part), sizeof part - 1);  // cut, and told how long it is
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    EQ(strlen(name) + 1, length);
    snprintf(tag, sizeof tag, "weft.test.set.%d", i);
    MPI_Comm comm = comm_of(session, name, tag);
    OK(MPI_Comm_size(comm, &sizes[i]));
    OK(MPI_Comm_rank(comm, &me));
    CHECK(me >= 0, "not in %s", name);
    sum(comm);
    OK(MPI_Comm_free(&comm));
  }
  EQ(sizes[0], size);
  EQ(sizes[1], 1);
  CHECK(sizes[2] <= size && sizes[3] <= sizes[2], "sizes %d, %d", sizes[2], sizes[3]);
  int here = 0;
  for (int r = 0; r < size; ++r) here += node_of(r) == node_of(rank);
  EQ(sizes[2], here);
}

static void halves(MPI_Session session) {
  if (size < 2) return;
  MPI_Group all, local, remote;
  MPI_Comm inter;
  int range[1][3] = {{0, size / 2 - 1, 1}}, others = 0;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  const int low = rank < size / 2;
  OK(MPI_Group_range_incl(all, 1, range, low ? &local : &remote));
  OK(MPI_Group_range_excl(all, 1, range, low ? &remote : &local));
  OK(MPI_Intercomm_create_from_groups(local, 0, remote, 0, "weft.test.halves", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &inter));
  OK(MPI_Comm_remote_size(inter, &others));
  EQ(others, low ? size - size / 2 : size / 2);
  OK(MPI_Barrier(inter));
  OK(MPI_Comm_free(&inter));
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&local));
  OK(MPI_Group_free(&remote));
}

static int handled = 0;
static MPI_Session handled_of;
static void handle(MPI_Session* session, int* code, ...) {
  handled = class_of(*code);
  handled_of = *session;
}

static void handlers(MPI_Session session) {
  MPI_Errhandler mine, found;
  MPI_Group group;
  MPI_Info info;
  int length = 10;
  char name[10];
  OK(MPI_Session_create_errhandler(handle, &mine));
  OK(MPI_Session_get_errhandler(session, &found));
  CHECK(found == MPI_ERRORS_RETURN, "the first handler is another one");
  FAILS(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group), MPI_ERR_ARG);
  FAILS(MPI_Session_get_pset_info(session, "x", &info), MPI_ERR_ARG);
  FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, name), MPI_ERR_ARG);
  OK(MPI_Session_set_errhandler(session, mine));
  FAILS(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group), MPI_ERR_ARG);
  EQ(handled, MPI_ERR_ARG);
  CHECK(handled_of == session, "the handler got another session");
  OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
  EQ(handled, MPI_ERR_OTHER);
  OK(MPI_Session_get_errhandler(session, &found));
  CHECK(found == mine, "the handler that was set is not the one there is");
  OK(MPI_Errhandler_free(&found));
  OK(MPI_Errhandler_free(&mine));
  OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
}

// A buffer of a session is not another's, and not the process's.
static void buffers(MPI_Session session) {
  enum { room = 1000 + MPI_BSEND_OVERHEAD };
  char memory[room];
  void* back = NULL;
  MPI_Count bytes = 0;
  int got = -1;
  MPI_Request flushed;
  MPI_Session other = open_session(MPI_ERRORS_RETURN, NULL);
  MPI_Comm own = comm_of(session, "mpi://SELF", "weft.test.own");
  MPI_Comm copy;
  OK(MPI_Comm_dup(own, &copy));
  MPI_Comm others = comm_of(other, "mpi://SELF", "weft.test.others");
  OK(MPI_Session_attach_buffer_c(session, memory, room));
  FAILS(MPI_Session_attach_buffer(session, memory, room), MPI_ERR_BUFFER);
  OK(MPI_Bsend(&rank, 1, MPI_INT, 0, 1, copy));
  OK(MPI_Recv(&got, 1, MPI_INT, 0, 1, copy, MPI_STATUS_IGNORE));
  EQ(got, rank);
  FAILS(MPI_Bsend(&rank, 1, MPI_INT, 0, 1, others), MPI_ERR_BUFFER);
  OK(MPI_Session_iflush_buffer(session, &flushed));
  OK(MPI_Wait(&flushed, MPI_STATUS_IGNORE));
  OK(MPI_Session_detach_buffer_c(session, &back, &bytes));
  CHECK(back == memory && bytes == room, "detached %p of %lld bytes", back, (long long)bytes);
  FAILS(MPI_Bsend(&rank, 1, MPI_INT, 0, 1, own), MPI_ERR_BUFFER);
  OK(MPI_Comm_free(&own));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&others));
  OK(MPI_Session_finalize(&other));
}

// What a session leaves is no object any more, while another goes on.
static void leftovers(MPI_Session session) {
  MPI_Session other = open_session(MPI_ERRORS_RETURN, NULL), gone = other;
  MPI_Group group;
  MPI_Comm left = comm_of(other, "mpi://SELF", "weft.test.left"), comm;
  int n = 0;
  OK(MPI_Group_from_session_pset(other, "mpi://SELF", &group));
  OK(MPI_Session_finalize(&other));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_Session_get_num_psets(gone, MPI_INFO_NULL, &n), MPI_ERR_SESSION);
  FAILS(MPI_Session_finalize(&gone), MPI_ERR_SESSION);
  FAILS(MPI_Session_finalize(&other), MPI_ERR_SESSION);
  FAILS(MPI_Barrier(left), MPI_ERR_COMM);
  FAILS(
      MPI_Comm_create_from_group(group, "weft.test.gone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
      MPI_ERR_SESSION);
  CHECK(comm == MPI_COMM_NULL, "there is a communicator of a session that is gone");
  OK(MPI_Group_free(&group));
  sets(session);
}

static void* use_one(void* argument) {
  const int me = *(int*)argument;
  for (int i = 0; i < 10; ++i) {
    char tag[40];
    snprintf(tag, sizeof tag, "weft.test.thread.%d.%d", me, i);
    MPI_Session session = open_session(MPI_ERRORS_RETURN, "MPI_THREAD_MULTIPLE");
    MPI_Comm comm = comm_of(session, "mpi://WORLD", tag);
    sum(comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
  }
  return NULL;
}

static void by_threads(void) {
  pthread_t id[3];
  int numbers[3];
  for (int t = 0; t < 3; ++t) {
    numbers[t] = t;
    if (pthread_create(&id[t], NULL, use_one, &numbers[t])) DIE("cannot make a thread");
  }
  for (int t = 0; t < 3; ++t) pthread_join(id[t], NULL);
}

static void one_after_the_other(void) {
  for (int i = 0; i < many; ++i) {
    MPI_Session session = open_session(MPI_ERRORS_RETURN, NULL);
    MPI_Comm comm = comm_of(session, i % 8 ? "mpi://SELF" : "mpi://WORLD", "weft.test.many");
    sum(comm);
    if (i % 2) OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
  }
}

int main(int argc, char** argv) {
  int provided = -1, level = -1;
  modes(0, 0);
  MPI_Session early = open_session(MPI_ERRORS_RETURN, "MPI_THREAD_SERIALIZED");
  level_is(early, "MPI_THREAD_SERIALIZED");
  modes(0, 0);
  MPI_Comm world = comm_of(early, "mpi://WORLD", "weft.test.early");
  OK(MPI_Comm_rank(world, &rank));
  OK(MPI_Comm_size(world, &size));
  sum(world);
  sets(early);
  by_threads();
  one_after_the_other();

  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Query_thread(&level));
  EQ(level, MPI_THREAD_MULTIPLE);
  modes(1, 0);
  level_is(early, "MPI_THREAD_SERIALIZED");
  sum(MPI_COMM_WORLD);
  sum(world);
  handlers(early);
  buffers(early);
  leftovers(early);
  halves(early);
  by_threads();
  OK(MPI_Comm_free(&world));
  // One that stays open over MPI_Finalize.
  world = comm_of(early, "mpi://WORLD", "weft.test.over");
  OK(MPI_Finalize());
  modes(1, 1);
  sum(world);
  OK(MPI_Comm_free(&world));
  OK(MPI_Session_finalize(&early));

  one_after_the_other();
  by_threads();
  modes(1, 1);
  MPI_Session late = open_session(MPI_ERRORS_RETURN, NULL);
  sets(late);
  halves(late);
  OK(MPI_Session_finalize(&late));
  return verdict();
}
