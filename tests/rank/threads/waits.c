// SPDX-License-Identifier: Apache-2.0
// Many threads of a rank wait at once, each in another kind of blocking call, for each other and
// for other ranks; one waits in a callback; and a thread that waits for long does not keep the
// others.
#include <pthread.h>

#include "../check.h"

enum { kinds = 8, rounds = 60 };
static MPI_Comm comm[kinds];

/// What thread `me` sends to and gets from its neighbours in `round`.
static int value_of(int of_rank, int me, int round) {
  return of_rank * 1000003 + me * 1009 + round;
}

/// One message from the left and one to the right, in the way that `kind` says. Returns what came.
static int exchange(int kind, int me, int round) {
  const MPI_Comm c = comm[me % kinds];
  const int to = right_of(rank), from = left_of(rank), tag = me;
  int out = value_of(rank, me, round), in[3] = {-1, -1, -1}, index = -1, count = 0, indices[2];
  MPI_Request r[3];
  MPI_Message message;
  switch (kind) {
    case 0:
      MPI_Isend(&out, 1, MPI_INT, to, tag, c, &r[0]);
      MPI_Recv(&in[0], 1, MPI_INT, from, tag, c, MPI_STATUS_IGNORE);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      return in[0];
    case 1:
      MPI_Irecv(&in[0], 1, MPI_INT, from, tag, c, &r[0]);
      MPI_Ssend(&out, 1, MPI_INT, to, tag, c);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      return in[0];
    case 2:
      MPI_Isend(&out, 1, MPI_INT, to, tag, c, &r[0]);
      MPI_Mprobe(from, tag, c, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(&in[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      return in[0];
    case 3:
      MPI_Isend(&out, 1, MPI_INT, to, tag, c, &r[0]);
      MPI_Probe(from, tag, c, MPI_STATUS_IGNORE);
      MPI_Recv(&in[0], 1, MPI_INT, from, tag, c, MPI_STATUS_IGNORE);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      return in[0];
    case 4:
      MPI_Sendrecv(&out, 1, MPI_INT, to, tag, &in[0], 1, MPI_INT, from, tag, c, MPI_STATUS_IGNORE);
      return in[0];
    case 5:
      MPI_Irecv(&in[0], 1, MPI_INT, from, tag, c, &r[0]);
      MPI_Issend(&out, 1, MPI_INT, to, tag, c, &r[1]);
      MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
      MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
      return in[0];
    case 6:
      MPI_Irecv(&in[0], 1, MPI_INT, from, tag, c, &r[0]);
      MPI_Issend(&out, 1, MPI_INT, to, tag, c, &r[1]);
      for (int done = 0; done < 2; done += count)
        MPI_Waitsome(2, r, &count, indices, MPI_STATUSES_IGNORE);
      return in[0];
    default:
      MPI_Recv_init(&in[0], 1, MPI_INT, from, tag, c, &r[0]);
      MPI_Issend(&out, 1, MPI_INT, to, tag, c, &r[1]);
      MPI_Ibarrier(c, &r[2]);
      MPI_Start(&r[0]);
      MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
      MPI_Request_free(&r[0]);
      return in[0];
  }
}

static void* exchanges(void* argument) {
  const int me = (int)(intptr_t)argument;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    // Only one thread uses a communicator for collectives.
    const int kind = (me + round) % (me < kinds ? kinds : kinds - 1);
    wrong += exchange(kind, me, round) != value_of(left_of(rank), me, round);
  }
  return (void*)(intptr_t)wrong;
}

static void* collectives(void* argument) {
  const int me = (int)(intptr_t)argument;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    int in = rank + round, sum = -1;
    MPI_Comm made;
    MPI_Request request;
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm[me]);
    wrong += sum != size * (size - 1) / 2 + size * round;
    if (round % 10 == 0) {
      MPI_Comm_split(comm[me], rank % 2, rank, &made);
      MPI_Barrier(made);
      MPI_Comm_free(&made);
      MPI_Comm_idup(comm[me], &made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Comm_disconnect(&made);
    }
    MPI_Barrier(comm[me]);
  }
  return (void*)(intptr_t)wrong;
}

static void run(void* (*body)(void*), int n, const char* what) {
  pthread_t thread[32];
  void* wrong;
  for (int i = 0; i < n; ++i)
    if (pthread_create(&thread[i], NULL, body, (void*)(intptr_t)i)) DIE("cannot make a thread");
  for (int i = 0; i < n; ++i) {
    pthread_join(thread[i], &wrong);
    CHECK(wrong == NULL, "%s: thread %d saw %d wrong values", what, i, (int)(intptr_t)wrong);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// --- one waits until another thread of its rank does something ---------------------------------
static MPI_Request general;
static int nothing(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int no_free(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int no_cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}
static void* wait_for_general(void* argument) {
  (void)argument;
  return (void*)(intptr_t)MPI_Wait(&general, MPI_STATUS_IGNORE);
}
static void* wait_for_self(void* argument) {
  int* in = argument;
  return (void*)(intptr_t)MPI_Recv(in, 1, MPI_INT, rank, 501, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// A callback that waits for a message which another thread of the rank sends.
static int wait_in_callback(MPI_Comm c, int key, void* value, void* state) {
  (void)c, (void)key, (void)state;
  return MPI_Recv(value, 1, MPI_INT, rank, 502, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void* free_with_callback(void* argument) {
  MPI_Comm* c = argument;
  return (void*)(intptr_t)MPI_Comm_free(c);
}

static void wait_for_threads(void) {
  pthread_t waiter[3];
  void* code;
  int in = -1, value = 77, key, got = -1;
  MPI_Comm copy;
  MPI_Grequest_start(nothing, no_free, no_cancel, NULL, &general);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wait_in_callback, &key, NULL));
  OK(MPI_Comm_set_attr(copy, key, &got));
  pthread_create(&waiter[0], NULL, wait_for_general, NULL);
  pthread_create(&waiter[1], NULL, wait_for_self, &in);
  pthread_create(&waiter[2], NULL, free_with_callback, &copy);
  for (int i = 0; i < 20; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));  // they wait meanwhile, mostly
  OK(MPI_Grequest_complete(general));
  OK(MPI_Send(&value, 1, MPI_INT, rank, 502, MPI_COMM_WORLD));
  OK(MPI_Send(&value, 1, MPI_INT, rank, 501, MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) {
    pthread_join(waiter[i], &code);
    EQ((intptr_t)code, MPI_SUCCESS);
  }
  EQ(in, 77);
  EQ(got, 77);
  OK(MPI_Comm_free_keyval(&key));
}

int main(int argc, char** argv) {
  int provided = -1;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  EQ(provided, MPI_THREAD_MULTIPLE);
  for (int i = 0; i < kinds; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
  run(exchanges, 2, "exchanges");
  run(exchanges, kinds, "exchanges");
  run(exchanges, 2 * kinds, "exchanges");
  run(collectives, kinds, "collectives");
  wait_for_threads();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kinds; ++i) OK(MPI_Comm_free(&comm[i]));
  return finish();
}
