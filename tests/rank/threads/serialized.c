// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_SERIALIZED: different threads call MPI one after the other; requests begun by one are
// completed by another; the thread that called Init is the main thread, others are not.
#include <pthread.h>

#include "../check.h"

static MPI_Request request[2];
static int in = -1;

static void* begin(void* argument) {
  int* main_thread = argument;
  MPI_Is_thread_main(main_thread);
  MPI_Irecv(&in, 1, MPI_INT, left_of(rank), 1, MPI_COMM_WORLD, &request[0]);
  MPI_Isend(&rank, 1, MPI_INT, right_of(rank), 1, MPI_COMM_WORLD, &request[1]);
  return NULL;
}

static void* end(void* argument) {
  *(int*)argument = MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = -1, main_thread = -1, code = -1;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(provided >= MPI_THREAD_SERIALIZED, "provided is %d", provided);
  for (int round = 0; round < 50; ++round) {
    pthread_t thread;
    in = -1;
    if (pthread_create(&thread, NULL, begin, &main_thread)) DIE("cannot make a thread");
    pthread_join(thread, NULL);
    EQ(main_thread, 0);
    if (pthread_create(&thread, NULL, end, &code)) DIE("cannot make a thread");
    pthread_join(thread, NULL);
    EQ(code, MPI_SUCCESS);
    EQ(in, left_of(rank));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return finish();
}
