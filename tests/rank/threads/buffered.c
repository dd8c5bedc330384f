// SPDX-License-Identifier: Apache-2.0
// Threads leave buffered sends behind in contexts of their own and end. Whoever waits in another
// context then has to complete them, however it hears of what comes there.
#include <pthread.h>
#include <unistd.h>

#include "../check.h"

enum { threads = 4, rounds = 2, count = 4 << 20 };
static MPI_Comm comm[threads];
static int* data[threads];

static void* send_all(void* argument) {
  const int me = (int)(intptr_t)argument;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; i += 1024) data[me][i] = 1000 * round + me;
    MPI_Bsend(data[me], count, MPI_INT, 1, 0, comm[me]);
  }
  return NULL;
}

static void* receive_all(void* argument) {
  const int me = (int)(intptr_t)argument;
  intptr_t wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    usleep(20000);  // rank 0 sleeps
    MPI_Recv(data[me], count, MPI_INT, 0, 0, comm[me], MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i += 1024) wrong += data[me][i] != 1000 * round + me;
  }
  return (void*)wrong;
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  pthread_t thread[threads];
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  for (int i = 0; i < threads; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
    data[i] = calloc(count, sizeof(int));
  }
  for (int i = 0; i < threads && rank < 2; ++i)
    if (pthread_create(&thread[i], NULL, rank == 0 ? send_all : receive_all, (void*)(intptr_t)i))
      DIE("cannot make a thread");
  for (int i = 0; i < threads && rank < 2; ++i) {
    void* wrong = NULL;
    pthread_join(thread[i], &wrong);
    EQ((intptr_t)wrong, 0);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  void* buffer;
  int bytes;
  OK(MPI_Buffer_detach(&buffer, &bytes));
  for (int i = 0; i < threads; ++i) {
    OK(MPI_Comm_free(&comm[i]));
    free(data[i]);
  }
  return finish();
}
