// SPDX-License-Identifier: Apache-2.0
// The last rank is killed while rank 0 is in an epoch with it. Argument: what rank 0 waits in.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char* how = "fence";
static int is(const char* word) {
  return strcmp(how, word) == 0;
}

int main(int argc, char** argv) {
  int rank, size, last;
  enum { bytes = 1 << 20 };
  static char data[bytes];
  char* memory;
  MPI_Win win;
  MPI_Group world, target, origin;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) how = argv[1];
  last = size - 1;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &last, &target);
  MPI_Group_incl(world, 1, (int[]){0}, &origin);
  if (is("fence")) MPI_Win_fence(0, win);
  if (is("complete") && rank == last) MPI_Win_post(origin, 0, win);
  if (is("lock") && rank == last) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == last) {
    usleep(100000);  // by then the other one waits
    raise(SIGKILL);
  }
  if (is("start")) MPI_Win_start(target, 0, win);
  if (is("lock")) MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
  if (is("wait")) {
    MPI_Win_post(target, 0, win);
    MPI_Win_wait(win);
  }
  if (is("lock_all")) {
    long old, one = 1;
    MPI_Win_lock_all(0, win);
    for (;;) {
      MPI_Fetch_and_op(&one, &old, MPI_LONG, last, 0, MPI_SUM, win);
      MPI_Win_flush(last, win);
    }
  }
  if (is("unlock")) {
    for (;;) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
      MPI_Get(data, bytes, MPI_BYTE, last, 0, bytes, MPI_BYTE, win);
      MPI_Win_unlock(last, win);
    }
  }
  if (is("complete")) {
    MPI_Win_start(target, 0, win);
    MPI_Accumulate(data, bytes, MPI_BYTE, last, 0, bytes, MPI_BYTE, MPI_BXOR, win);
    MPI_Win_complete(win);
    MPI_Win_free(&win);
  }
  if (is("flush")) {
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (;;) {
      MPI_Put(data, bytes, MPI_BYTE, last, 0, bytes, MPI_BYTE, win);
      MPI_Win_flush(last, win);
    }
  }
  MPI_Put(data, 8, MPI_BYTE, last, 0, 8, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  printf("rank %d went on\n", rank);
  return 0;
}
