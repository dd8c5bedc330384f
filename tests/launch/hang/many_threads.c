// SPDX-License-Identifier: Apache-2.0
// 40 threads of rank 0 wait for a task each; rank 1 hands out tasks when it has been asked.
#include <mpi.h>
#include <pthread.h>

enum { threads = 40 };

static void* work(void* unused) {
  int task;
  MPI_Recv(&task, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}

int main(int argc, char** argv) {
  int rank, provided, value = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    pthread_t thread[threads];
    for (int i = 1; i < threads; ++i) pthread_create(&thread[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < threads; ++i) pthread_join(thread[i], NULL);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < threads; ++i) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
