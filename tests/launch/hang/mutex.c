// SPDX-License-Identifier: Apache-2.0
// Rank 0's first thread keeps a mutex while it waits for a message, which rank 1 sends only after
// it has heard from rank 0's second thread, which needs the mutex.
#include <mpi.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void* ask(void* unused) {
  pthread_mutex_lock(&mutex);
  MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(int argc, char** argv) {
  int rank, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, ask, NULL);
    MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
