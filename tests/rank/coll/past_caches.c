// SPDX-License-Identifier: Apache-2.0
// On a machine with small caches (declared by the testlist) long direct copies between ranks of one
// process go past the caches, short ones do not; both bring the right data. Ranks that are
// processes do not copy directly.
#include <sys/syscall.h>  // the process's number; getpid is the rank's
#include <unistd.h>

#include "../counter.h"
#include "forms.h"

static void exchange(int n, int threads) {
  const size_t room = (size_t)n * (size_t)size;
  int *mine = malloc(room * sizeof *mine), *got = calloc(room, sizeof *got);
  const unsigned long long before = counted();
  for (int to = 0; to < size; ++to)
    for (int i = 0; i < n; ++i) mine[(size_t)to * (size_t)n + (size_t)i] = item(rank, to, i);
  COLL(Alltoall, alltoall, mine, n, MPI_INT, got, n, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < n; ++i)
      CHECK(got[(size_t)from * (size_t)n + (size_t)i] == item(from, rank, i),
            "alltoall of %d: wrong at %d from %d", n, i, from);
  COLL(Allgather, allgather, mine, n, MPI_INT, got, n, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < n; ++i)
      CHECK(got[(size_t)from * (size_t)n + (size_t)i] == item(from, 0, i),
            "allgather of %d: wrong at %d from %d", n, i, from);
  COLL(Bcast, bcast, mine, n, MPI_INT, size - 1, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i)
    CHECK(mine[i] == item(size - 1, 0, i), "bcast of %d: wrong at %d", n, i);

  const unsigned long long bytes = counted() - before, block = (unsigned long long)n * sizeof(int);
  const int others = rank == size - 1 ? size - 1 : 0;  // the root writes to all
  const unsigned long long copied = (unsigned long long)(2 * size + others) * block;
  const int is_long = n > 10000;
  CHECK(bytes == (threads && is_long ? copied : 0), "%llu bytes past the caches of %llu", bytes,
        copied);
  free(mine);
  free(got);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  const long pid = syscall(SYS_getpid), ends[2] = {pid, -pid};
  long most[2] = {0};
  OK(MPI_Allreduce(ends, most, 2, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
  const int threads = most[0] == -most[1];  // the highest number of a process is the lowest
  open_counter("coll_past_caches", MPI_T_PVAR_CLASS_AGGREGATE);
  exchange(100, threads);
  exchange(50000, threads);
  close_counter();
  return finish();
}
