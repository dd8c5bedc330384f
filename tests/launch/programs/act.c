// SPDX-License-Identifier: Apache-2.0
// act RANK WHAT [VALUE]: that rank does something after a barrier, while the others wait for a
// message that never comes (or, for `finish`, end as they should). WHAT: return, exit, _exit, abort
// (MPI_Abort), signal, segv, fatal, finish, hang.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 99);
  const int actor = atoi(argv[1]), value = argc > 3 ? atoi(argv[3]) : 0;
  const char* what = argv[2];
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "finish") == 0) {
    MPI_Finalize();
    return rank == actor ? value : 0;
  }
  // With the word `hang` there is no actor: everybody waits.
  if (rank != actor || strcmp(what, "hang") == 0)
    MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank != actor) return 0;
  printf("rank %d does %s\n", rank, what);
  fflush(stdout);
  if (strcmp(what, "return") == 0) return value;
  if (strcmp(what, "exit") == 0) exit(value);
  if (strcmp(what, "_exit") == 0) _exit(value);
  if (strcmp(what, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, value);
  if (strcmp(what, "signal") == 0) {
    if (value == SIGKILL) kill(getpid(), SIGKILL);
    raise(value);
  }
  if (strcmp(what, "segv") == 0) *(volatile int*)(size_t)value = 1;
  if (strcmp(what, "fatal") == 0) MPI_Send(&token, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  fprintf(stderr, "rank %d is still there after %s\n", rank, what);
  return 98;
}
