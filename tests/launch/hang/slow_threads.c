// SPDX-License-Identifier: Apache-2.0
// Right, but slow: for as many seconds as its argument says threads of rank 0 wait for one message
// each, more of them at once than wait anywhere else, and one for any of many requests of two
// communicators, while another one asks rank 1 for the messages in little steps.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { threads = 40, requests = 24, last = threads + 1 };
static MPI_Comm comms[2];

static void* waits(void* tag) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, 1, (int)(intptr_t)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return NULL;
}

static void* waits_for_any(void* unused) {
  int values[requests], index;
  MPI_Request request[requests];
  for (int i = 0; i < requests; ++i)
    MPI_Irecv(&values[i], 1, MPI_INT, 1, i, comms[i % 2], &request[i]);
  MPI_Waitany(requests, request, &index, MPI_STATUS_IGNORE);  // the last one
  for (int i = 0; i < requests; ++i) {
    if (i == index) continue;
    MPI_Cancel(&request[i]);
    MPI_Wait(&request[i], MPI_STATUS_IGNORE);
  }
  return unused;
}

int main(int argc, char** argv) {
  int rank, provided, value = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  if (rank == 0) {
    pthread_t thread[last + 1];
    const double step = atof(argv[1]) / last;
    for (int i = 1; i <= threads; ++i) pthread_create(&thread[i], NULL, waits, (void*)(intptr_t)i);
    pthread_create(&thread[last], NULL, waits_for_any, NULL);
    for (int i = 1; i <= last; ++i) {
      usleep((useconds_t)(1e6 * step));
      MPI_Ssend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    for (int i = 1; i <= last; ++i) pthread_join(thread[i], NULL);
  } else if (rank == 1) {
    for (int i = 1; i <= last; ++i) {
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (i < last)
        MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
      else
        MPI_Send(&value, 1, MPI_INT, 0, requests - 1, comms[1]);
    }
  }
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
