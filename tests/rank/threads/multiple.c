// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: several threads per rank send and receive at once, by tag, by communicator,
// with wildcards and matched probes; collectives on a communicator each; one thread waits while
// another works.
#include <pthread.h>
#include <stdatomic.h>

#include "../check.h"

enum { threads = 4, rounds = 200 };
static MPI_Comm comm[threads];
static atomic_int taken;

static void* by_tag(void* argument) {
  const int me = (int)(intptr_t)argument;
  static const int lengths[] = {1, 20, 300, 5000, 60000};
  int *in = malloc(sizeof(int) * 60000), *out = malloc(sizeof(int) * 60000), wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const int n = lengths[(round + me) % 5];
    MPI_Request request[2];
    for (int i = 0; i < n; ++i) out[i] = rank * 7 + me * 1000 + round + i;
    MPI_Irecv(in, n, MPI_INT, left_of(rank), me, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, n, MPI_INT, right_of(rank), me, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; ++i) wrong += in[i] != left_of(rank) * 7 + me * 1000 + round + i;
  }
  free(in);
  free(out);
  return (void*)(intptr_t)wrong;
}

static void* by_communicator(void* argument) {
  const int me = (int)(intptr_t)argument;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    int in = rank + me + round, sum = 0, root = round % size,
        value = rank == root ? round * 3 + me : -1;
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm[me]);
    MPI_Bcast(&value, 1, MPI_INT, root, comm[me]);
    wrong += sum != size * (size - 1) / 2 + size * (me + round);
    wrong += value != round * 3 + me;
  }
  return (void*)(intptr_t)wrong;
}

// All threads take messages of one stream by matched probe: each is taken once, whole.
static void* by_matched_probe(void* argument) {
  (void)argument;
  int wrong = 0;
  while (atomic_fetch_add(&taken, 1) < rounds) {
    MPI_Message message;
    MPI_Status status;
    int count = 0, in[50];
    MPI_Mprobe(left_of(rank), 77, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Mrecv(in, 50, MPI_INT, &message, &status);
    for (int i = 0; i < count; ++i) wrong += in[i] != count + i;
    wrong += count < 1 || count > 50;
  }
  return (void*)(intptr_t)wrong;
}

static void* feed(void* argument) {
  (void)argument;
  int out[50];
  for (int round = 0; round < rounds; ++round) {
    const int count = 1 + round % 50;
    for (int i = 0; i < count; ++i) out[i] = count + i;
    MPI_Send(out, count, MPI_INT, right_of(rank), 77, MPI_COMM_WORLD);
  }
  return NULL;
}

// One thread waits for a message that another thread of the same rank sends later.
static void* wait_long(void* argument) {
  int in = -1;
  MPI_Recv(&in, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  *(int*)argument = in;
  return NULL;
}

static void together(void* (*body)(void*), const char* what, void* (*extra)(void*)) {
  pthread_t thread[threads], one;
  void* wrong;
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&thread[i], NULL, body, (void*)(intptr_t)i)) DIE("cannot make a thread");
  }
  if (extra && pthread_create(&one, NULL, extra, NULL)) DIE("cannot make a thread");
  for (int i = 0; i < threads; ++i) {
    pthread_join(thread[i], &wrong);
    CHECK(wrong == NULL, "%s: thread %d saw %d wrong values", what, i, (int)(intptr_t)wrong);
  }
  if (extra) pthread_join(one, NULL);
}

int main(int argc, char** argv) {
  int provided = -1, main_thread = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Is_thread_main(&main_thread));
  EQ(main_thread, 1);
  for (int i = 0; i < threads; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
  together(by_tag, "by tag", NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  together(by_communicator, "by communicator", NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  together(by_matched_probe, "by matched probe", feed);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  pthread_t waiter;
  int in = -1, out = 31;
  if (pthread_create(&waiter, NULL, wait_long, &in)) DIE("cannot make a thread");
  for (int i = 0; i < 20; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&out, 1, MPI_INT, rank, 99, MPI_COMM_WORLD));
  pthread_join(waiter, NULL);
  EQ(in, 31);
  for (int i = 0; i < threads; ++i) OK(MPI_Comm_free(&comm[i]));
  return finish();
}
