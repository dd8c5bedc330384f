// SPDX-License-Identifier: Apache-2.0
// Threads of each rank in one-sided operations at once (MPI_THREAD_MULTIPLE): each has targets and
// places of its own, a counter is everybody's.
#include <pthread.h>

#include "flavors.h"

enum { threads = 3, rounds = 60, ints = 40 };
static Flavored f;

static void* work(void* number) {
  const int me = *(int*)number;
  const long one = 1;
  for (int i = 0; i < rounds; ++i) {
    const int to = (rank + me + i) % size;
    const MPI_Aint mine = f.bases[to] + 8 + (rank * threads + me) * (MPI_Aint)sizeof(int[ints]);
    long old = -1;
    int out[ints], in[ints] = {0};
    for (int k = 0; k < ints; ++k) out[k] = i * 1000 + me * 100 + k;
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, to, f.bases[to], MPI_SUM, f.win));
    OK(MPI_Put(out, ints, MPI_INT, to, mine, ints, MPI_INT, f.win));
    OK(MPI_Win_flush(to, f.win));
    CHECK(old >= 0 && old < (long)size * threads * rounds, "the counter was %ld", old);
    MPI_Request request;
    OK(MPI_Rget(in, ints, MPI_INT, to, mine, ints, MPI_INT, f.win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQ(memcmp(in, out, sizeof in), 0);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  EQ(provided, MPI_THREAD_MULTIPLE);
  for (int which = 0; which < flavors; ++which) {
    f = open_window(which, 8 + size * threads * (MPI_Aint)sizeof(int[ints]));
    OK(MPI_Win_lock_all(0, f.win));
    pthread_t all[threads];
    int numbers[threads];
    for (int i = 0; i < threads; ++i) {
      numbers[i] = i;
      pthread_create(&all[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
    OK(MPI_Win_unlock_all(f.win));
    long mine = 0, sum = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    memcpy(&mine, f.memory, sizeof mine);
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    EQ(sum, (long)size * threads * rounds);
    close_window(&f);
  }
  return finish();
}
