// SPDX-License-Identifier: Apache-2.0
// unflushed HOW: rank 1 prints without a flush and ends the job; the others wait.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* leave(void* p) {
  (void)p;
  exit(7);
}

int main(int argc, char** argv) {
  int rank, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setvbuf(stdout, 0, _IOFBF, 4096);
  printf("rank %d printed;", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const char* how = argv[1];
  if (rank == 1 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (rank == 1 && strcmp(how, "fatal") == 0) MPI_Send(&token, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 1 && strcmp(how, "exit") == 0) exit(7);
  if (rank == 1 && strcmp(how, "thread") == 0) {
    pthread_t t;
    pthread_create(&t, 0, leave, 0);
    pthread_join(t, 0);
  }
  MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
