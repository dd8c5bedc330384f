// SPDX-License-Identifier: Apache-2.0
// threads_end WHAT: every rank's main thread leaves by pthread_exit, and another thread goes on.
//   finalize  it calls MPI_Finalize and returns: the rank exits with 0
//   exit      it calls MPI_Finalize and exit(7) on rank 1
//   join      it joins the main thread first, then as `finalize`
//   key       as `finalize`, in a destructor of thread-specific data
//   nobody    there is no other thread, and nobody calls MPI_Finalize
//   without   rank 0 has no other thread and does not even call MPI_Init; the others do
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* what;
static int rank = -1;
static pthread_t main_thread;
static pthread_key_t key;

static void say(const char* text) {
  printf("rank %d: %s\n", rank, text);
}
static void at_exit(void) {
  say("exit handler");
}
static void clean_up(void* p) {
  say((const char*)p);
}

static void finalize(void* p) {
  (void)p;
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d: sum %d\n", rank, sum);
  MPI_Finalize();
}

static void* work(void* p) {
  if (strcmp(what, "join") == 0) {
    void* result = NULL;
    const int e = pthread_join(main_thread, &result);
    printf("rank %d: joined %d %ld\n", rank, e, (long)result);
  }
  usleep(50000);
  if (strcmp(what, "key") == 0) {
    pthread_setspecific(key, what);
    return p;
  }
  finalize(NULL);
  if (strcmp(what, "exit") == 0) exit(rank == 1 ? 7 : 0);
  return p;
}

int main(int argc, char** argv) {
  what = argv[1];
  atexit(at_exit);
  main_thread = pthread_self();
  pthread_key_create(&key, finalize);
  const char* local = getenv("FIRST_PROGRAM");
  if (strcmp(what, "without") != 0 || local == NULL) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_t thread;
    if (strcmp(what, "nobody") != 0) pthread_create(&thread, NULL, work, NULL);
  }
  pthread_cleanup_push(clean_up, "cleanup");
  pthread_exit((void*)5);
  pthread_cleanup_pop(0);
}
