// SPDX-License-Identifier: Apache-2.0
// Accumulations of many elements at once (rma/accumulate.cc, in bulk) beside those of single ones,
// of all ranks and of two threads of each, on the same elements: none is lost, and fetched values
// grow.
#include <pthread.h>

#include "flavors.h"

enum { n = 50000, rounds = 6, singles = 400 };
static Flavored f;

static void* accumulate_many(void* nothing) {
  (void)nothing;
  long* ones = alloc(sizeof(long) * n);
  long* old = alloc(sizeof(long) * n);
  for (int i = 0; i < n; ++i) ones[i] = 1;
  for (int r = 0; r < rounds; ++r)
    for (int to = 0; to < size; ++to) {
      if (r % 2 == 0) {
        OK(MPI_Accumulate(ones, n, MPI_LONG, to, f.bases[to], n, MPI_LONG, MPI_SUM, f.win));
        OK(MPI_Win_flush(to, f.win));
        continue;
      }
      OK(MPI_Get_accumulate(ones, n, MPI_LONG, old, n, MPI_LONG, to, f.bases[to], n, MPI_LONG,
                            MPI_SUM, f.win));
      OK(MPI_Win_flush(to, f.win));
      long wrong = 0;
      for (int i = 0; i < n; ++i) wrong += old[i] < r;  // at least this rank's own
      EQ(wrong, 0);
    }
  free(ones);
  free(old);
  return NULL;
}

static void* accumulate_few(void* nothing) {
  (void)nothing;
  const long one = 1;
  for (int to = 0; to < size; ++to) {
    long last = -1;
    for (int i = 0; i < singles; ++i) {
      long old = -1;
      OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, to, f.bases[to], MPI_SUM, f.win));
      OK(MPI_Win_flush(to, f.win));
      CHECK(old > last, "%ld after %ld", old, last);
      last = old;
      // Add one to another element by swaps.
      const MPI_Aint at = f.bases[to] + (MPI_Aint)sizeof(long) * (1 + i * 97 % (n - 1));
      long seen = 0, next = 1, found = -1;
      for (;;) {
        OK(MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, to, at, f.win));
        OK(MPI_Win_flush(to, f.win));
        if (found == seen) break;
        seen = found;
        next = seen + 1;
      }
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int which = 0; which < flavors; ++which) {
    f = open_window(which, (MPI_Aint)sizeof(long) * n);
    OK(MPI_Win_lock_all(0, f.win));
    pthread_t other;
    pthread_create(&other, NULL, accumulate_many, NULL);
    accumulate_few(NULL);
    pthread_join(other, NULL);
    OK(MPI_Win_unlock_all(f.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long sum = 0;
    for (int i = 0; i < n; ++i) sum += ((long*)f.memory)[i];
    EQ(sum, (long)size * ((long)rounds * n + 2 * singles));
    EQ(((long*)f.memory)[0], (long)size * (rounds + singles));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    close_window(&f);
  }
  return finish();
}
