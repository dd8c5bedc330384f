// SPDX-License-Identifier: Apache-2.0
// Several threads receive messages of one source and tag at once, by MPI_Recv and by MPI_Irecv.
// What is ordered stays so: a thread gets messages in the order in which it asked for them, also by
// an MPI_Irecv before an MPI_Recv; a thread that asks after another has got its message, or has
// posted its receive, and said so, gets a later one. Concurrent calls may share them in any way.
#include <pthread.h>
#include <sched.h>

#include "../check.h"

enum { threads = 4, rounds = 200, per_round = 2 * threads + 3, tag = 5 };
static int seen[rounds * per_round];
static int first_of_phase[threads], last_of_phase[threads];
static pthread_barrier_t gate;

static int receive(void) {
  int number = -1;
  MPI_Recv(&number, 1, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return number;
}

/// Errors so far, and the number counted as seen.
static int note(int number, int later_than) {
  if (number < 0 || number >= rounds * per_round || number <= later_than) return 1;
  __atomic_fetch_add(&seen[number], 1, __ATOMIC_RELAXED);
  return 0;
}

/// The last that any thread received in the phase before.
static int latest(void) {
  int most = -1;
  for (int t = 0; t < threads; ++t)
    if (last_of_phase[t] > most) most = last_of_phase[t];
  return most;
}

static void* receiver(void* argument) {
  const int me = (int)(intptr_t)argument;
  int wrong = 0, before = -1;
  for (int round = 0; round < rounds; ++round) {
    // One that is posted before any of the calls that follow, and all know it.
    int first = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (me == round % threads)
      MPI_Irecv(&first, 1, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, &request);
    pthread_barrier_wait(&gate);
    // One thread's MPI_Irecv comes before its MPI_Recv, whoever receives meanwhile.
    int early = -1;
    MPI_Request own = MPI_REQUEST_NULL;
    if (me == (round + 1) % threads)
      MPI_Irecv(&early, 1, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, &own);
    const int late = receive();
    MPI_Wait(&own, MPI_STATUS_IGNORE);
    if (me == (round + 1) % threads) wrong += note(early, before);
    wrong += note(late, early >= 0 ? early : before);
    first_of_phase[me] = early >= 0 ? early : late;
    last_of_phase[me] = late;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&gate);
    if (me == round % threads) {
      for (int t = 0; t < threads; ++t) wrong += first >= first_of_phase[t];
      wrong += note(first, before);
    }
    // What has been received by now came before what is asked for now, by whomever.
    const int most = latest();
    wrong += note(receive(), most);
    pthread_barrier_wait(&gate);
    if (me == 0) last_of_phase[me] = receive();
    pthread_barrier_wait(&gate);
    before = last_of_phase[0];
    if (me == 0) wrong += note(before, most);
  }
  return (void*)(intptr_t)wrong;
}

static void* sender(void* unused) {
  (void)unused;
  static const int of_phase[] = {threads + 2, threads, 1};
  for (int number = 0, round = 0; round < rounds; ++round) {
    pthread_barrier_wait(&gate);
    for (int phase = 0; phase < 3; ++phase) {
      for (int i = 0; i < of_phase[phase]; ++i, ++number) {
        MPI_Send(&number, 1, MPI_INT, right_of(rank), tag, MPI_COMM_WORLD);
        sched_yield();  // the receives are there already, or not
      }
      pthread_barrier_wait(&gate);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = -1, wrong = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  EQ(provided, MPI_THREAD_MULTIPLE);
  pthread_t all[threads + 1];
  void* result;
  pthread_barrier_init(&gate, NULL, threads + 1);
  for (int t = 0; t < threads; ++t) pthread_create(&all[t], NULL, receiver, (void*)(intptr_t)t);
  pthread_create(&all[threads], NULL, sender, NULL);
  for (int t = 0; t <= threads; ++t) {
    pthread_join(all[t], &result);
    wrong += (int)(intptr_t)result;
  }
  if (wrong != 0) DIE("%d messages were received out of order", wrong);
  for (int i = 0; i < rounds * per_round; ++i)
    if (seen[i] != 1) DIE("message %d was received %d times", i, seen[i]);
  return finish();
}
