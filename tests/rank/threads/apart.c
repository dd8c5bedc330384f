// SPDX-License-Identifier: Apache-2.0
// Threads with their own communicators, or their own tags where the communicator's users name them,
// never meet at one lock: counted. With one context they do, as often as they take turns.
#include <pthread.h>

#include "../counter.h"

enum { threads = 4, rounds = 200, most_contexts = 8 };
static MPI_Comm comm[threads];
static int by_tag;
static pthread_barrier_t turn;

// Every thread sends and receives in every round, so that with one lock it has to change hands.
static void* exchange(void* argument) {
  const int me = (int)(intptr_t)argument;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    int in = -1, out = rank * 10000 + round;
    const int tag = by_tag ? me : 0;
    pthread_barrier_wait(&turn);
    MPI_Send(&out, 1, MPI_INT, right_of(rank), tag, comm[me]);
    MPI_Recv(&in, 1, MPI_INT, left_of(rank), tag, comm[me], MPI_STATUS_IGNORE);
    wrong += in != left_of(rank) * 10000 + round;
  }
  return (void*)(intptr_t)wrong;
}

static uint64_t passed_in_rounds(void) {
  pthread_t thread[threads];
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const uint64_t before = counted();
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&thread[i], NULL, exchange, (void*)(intptr_t)i)) DIE("cannot make a thread");
  for (int i = 0; i < threads; ++i) {
    void* wrong;
    pthread_join(thread[i], &wrong);
    EQ((intptr_t)wrong, 0);
  }
  return counted() - before;
}

static void count(const char* what, int contexts) {
  // Each lock goes to its thread once, and once back to this one, which reads the counters. Over
  // nodes a thread that goes to sleep looks into contexts that nobody looks after: once into idle
  // ones, and where other programs keep it from its CPU also into those whose threads it keeps
  // waiting outside. Not in each try, so the median counts.
  const char* nodes = getenv("TEST_NODES");
  const int is_spread = nodes != NULL && atoi(nodes) > 1;
  const unsigned looked_at = is_spread ? 6 * most_contexts : 0;
  uint64_t passed = 0, tried[5];
  for (int i = 0; i < (is_spread ? 5 : 1); ++i) {
    const uint64_t now = passed_in_rounds();
    int at = i;
    for (; at > 0 && tried[at - 1] > now; --at) tried[at] = tried[at - 1];
    tried[at] = now;
    passed = tried[i / 2];
  }
  if (contexts >= threads)
    CHECK(passed <= 4 * threads + looked_at, "%s: locks passed %llu times", what,
          (unsigned long long)passed);
  else if (contexts == 1)
    CHECK(passed >= rounds * (threads - 1), "%s: the lock passed only %llu times", what,
          (unsigned long long)passed);
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  open_counter("lock_passed", MPI_T_PVAR_CLASS_COUNTER);
  const char* set = getenv("WEFT_PT2PT_CONTEXTS");
  const int contexts = set != NULL ? atoi(set) : 8;
  pthread_barrier_init(&turn, NULL, threads);
  for (int i = 0; i < threads; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
  count("a communicator for each thread", contexts);
  for (int i = 0; i < threads; ++i) OK(MPI_Comm_free(&comm[i]));

  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm[0]));
  OK(MPI_Info_free(&info));
  for (int i = 1; i < threads; ++i) comm[i] = comm[0];
  by_tag = 1;
  count("a tag for each thread", contexts);
  OK(MPI_Comm_free(&comm[0]));
  close_counter();
  return finish();
}
