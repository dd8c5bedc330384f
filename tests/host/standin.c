/* SPDX-License-Identifier: Apache-2.0
 *
 * See standin.h. Writes to descriptors itself: nothing here may depend on what is interposed. */
#include "standin.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/host.h>

enum { most_ranks = 4096 };
static __thread int rank = -1;
static int size = 1, process_rank = 0;
static void* slots[most_ranks];
static pthread_barrier_t barrier;
static long values[most_ranks];

/* What ranks that are processes share: STANDIN_PROCESS=<fd>,<rank>,<size> names a file of zeros. */
static struct shared {
  atomic_int arrived, round;
  long values[most_ranks];
}* shared;

static void start_process(const char* place) {
  int fd = 0;
  if (sscanf(place, "%d,%d,%d", &fd, &process_rank, &size) != 3) abort();
  shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) abort();
  close(fd);
  unsetenv("STANDIN_PROCESS");
}

static void meet_processes(void) {
  const int round = atomic_load(&shared->round);
  if (atomic_fetch_add(&shared->arrived, 1) == size - 1) {
    atomic_store(&shared->arrived, 0);
    atomic_store(&shared->round, round + 1);
  }
  while (atomic_load(&shared->round) == round) sched_yield();
}

__attribute__((constructor)) static void start(void) {
  int fd = 0, first = 0;
  const char* place = getenv("STANDIN_PROCESS");
  if (place) return start_process(place);
  const char* job = getenv("WEFT_JOB");
  if (!job || sscanf(job, "%d,%d,%d", &fd, &first, &size) != 3) size = 1;
  pthread_barrier_init(&barrier, 0, (unsigned)size);
}

int t_rank(void) {
  return rank < 0 ? process_rank : rank;
}
int t_size(void) {
  return size;
}
void t_barrier(void) {
  if (shared)
    meet_processes();
  else if (rank >= 0)
    pthread_barrier_wait(&barrier);
}

long t_value(long value, int peer) {
  long* all = shared ? shared->values : values;
  all[t_rank()] = value;
  t_barrier();
  const long other = all[peer];
  t_barrier();
  return other;
}

void* t_exchange(void* p, int peer) {
  slots[t_rank()] = p;
  t_barrier();
  void* other = slots[peer];
  t_barrier();
  return other;
}

int t_report(const char* name, int good) {
  char text[128];
  int n = snprintf(text, sizeof text, "rank %d %s %s\n", t_rank(), name, good ? "ok" : "FAILED");
  if (write(2, text, (size_t)n) != n) return 1;
  return good ? 0 : 1;
}

void weft_host_attach(int world_rank) {
  rank = world_rank;
}

void weft_host_rank_exited(int world_rank, int status, int how) {
  if (!getenv("STANDIN_TELL")) return;
  char text[80];
  int n = snprintf(text, sizeof text, "hook: rank %d exited %d how %d\n", world_rank, status, how);
  if (write(2, text, (size_t)n) != n) abort();
}

void weft_host_abort(int world_rank, int status, int signal) {
  char text[80];
  int n = snprintf(text, sizeof text, "hook: abort by rank %d status %d signal %d\n", world_rank,
                   status, signal);
  if (write(2, text, (size_t)n) != n) _exit(99);
}
