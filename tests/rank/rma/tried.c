/* SPDX-License-Identifier: Apache-2.0 */
/* Long puts and gets of which some are done with the help of idle threads and some without: enough
   for looks at both (base/trial.h), by one thread of each rank or by two at once. All bytes are
   those of this round. */
#include <pthread.h>
#include <stdlib.h>

#include "../check.h"

enum { ints = 20000, rounds = 400 };

static MPI_Win win;

static int value(int from, int round, int i) {
  return (from * rounds + round) * 3 + i;
}

/* Puts into the next rank's half `half`, and gets it back. */
static void* exchange(void* half) {
  const int begin = half != NULL ? ints : 0, to = (rank + 1) % size;
  int *out = malloc(ints * sizeof *out), *in = malloc(ints * sizeof *in);
  MPI_Datatype typed;
  MPI_Type_vector(ints / 4, 4, 4, MPI_INT, &typed);
  MPI_Type_commit(&typed);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < ints; ++i) out[i] = value(rank, round, i + begin), in[i] = -1;
    OK(MPI_Put(out, ints, MPI_INT, to, begin, ints, MPI_INT, win));
    OK(MPI_Win_flush(to, win));
    OK(MPI_Get(in, 1, typed, to, begin, ints, MPI_INT, win));
    OK(MPI_Win_flush(to, win));
    for (int i = 0; i < ints; ++i) wrong += in[i] != value(rank, round, i + begin);
  }
  EQ(wrong, 0);
  MPI_Type_free(&typed);
  free(out);
  free(in);
  return NULL;
}

int main(int argc, char** argv) {
  int *base, provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  EQ(provided, MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Win_allocate(2 * ints * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                      &win));
  OK(MPI_Win_lock_all(0, win));
  exchange(NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  pthread_t other;
  pthread_create(&other, NULL, exchange, win);
  exchange(NULL);
  pthread_join(other, NULL);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  return finish();
}
