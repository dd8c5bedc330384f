/* SPDX-License-Identifier: Apache-2.0
 *
 * See standin.h. Writes to descriptors itself: nothing here may depend on what is interposed. */
#include "standin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/host.h>

enum { most_ranks = 4096 };
static __thread int rank = -1;
static int size = 1;
static void* slots[most_ranks];
static pthread_barrier_t barrier;

__attribute__((constructor)) static void start(void) {
  int fd = 0, first = 0;
  const char* job = getenv("WEFT_JOB");
  if (!job || sscanf(job, "%d,%d,%d", &fd, &first, &size) != 3) size = 1;
  pthread_barrier_init(&barrier, 0, (unsigned)size);
}

int t_rank(void) {
  return rank < 0 ? 0 : rank;
}
int t_size(void) {
  return size;
}
void t_barrier(void) {
  if (rank >= 0) pthread_barrier_wait(&barrier);
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
