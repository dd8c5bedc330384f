/* SPDX-License-Identifier: Apache-2.0 */
/* How far apart the CPUs of the first and the last rank are at this moment: those of a virtual
   machine may move within seconds, and no topology tells. These two hand a cache line to and fro;
   the others sleep. And whether each has its core for itself: where another guest of the host has
   the core's other hardware thread, all but one chain of dependent instructions takes up to twice
   as long. */
#ifndef WEFT_BENCH_DISTANCE_H
#define WEFT_BENCH_DISTANCE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
  distance_batches = 5,
  distance_turns = 60,
  distance_sleep_us = 2000,
  distance_patience = 5000,
  work_rounds = 2000
};

struct distance {
  int rank, size;
  long* line; /* in a page that both of them map; NULL: there is none */
  long turns; /* that it has gone */
  /* At rank 0, after look_at_distance: ns of the same work as it began and as it ended, of the
     slower of both ranks; 0: not known */
  double began_ns, ended_ns;
};

static inline struct distance open_distance(int rank, int size) {
  struct distance d = {rank, size, NULL, 0, 0, 0};
  const int other = size > 1 && rank == size - 1, one_of_both = rank == 0 || other;
  char name[] = "/tmp/weft-bench-XXXXXX";
  void* page = MAP_FAILED;
  int file = rank == 0 ? mkstemp(name) : -1;
  const int sized = file >= 0 && ftruncate(file, 4096) == 0;
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (other) file = open(name, O_RDWR);
  if (file >= 0 && (sized || other))
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  int mapped = !one_of_both || page != MAP_FAILED, all = 0;
  MPI_Allreduce(&mapped, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
  if (all && size > 1 && one_of_both) d.line = page;
  return d;
}

static inline void close_distance(struct distance* d) {
  if (d->line != NULL) munmap(d->line, 4096);
}

/* To the first or the last CPU of its mask; the mask before. */
static inline cpu_set_t pin_to_end(int last) {
  cpu_set_t mask, one;
  int found = -1;
  sched_getaffinity(0, sizeof mask, &mask);
  for (int cpu = 0; cpu < CPU_SETSIZE && (last || found < 0); ++cpu)
    if (CPU_ISSET(cpu, &mask)) found = cpu;
  CPU_ZERO(&one);
  CPU_SET(found, &one);
  sched_setaffinity(0, sizeof one, &one);
  return mask;
}

/* By two threads or ranks, each with `turns` of its own; ns of one way, the shortest time. */
static inline double hand_line_over(long* line, long* turns, int second) {
  double best = 0;
  for (int batch = 0; batch < distance_batches; ++batch) {
    const double start = MPI_Wtime();
    for (const long end = *turns + distance_turns; *turns < end; ++*turns) {
      const long mine = 2 * *turns + second; /* then the line is this one's */
      for (int looks = 0; __atomic_load_n(line, __ATOMIC_ACQUIRE) != mine; ++looks)
        if (looks > distance_patience) sched_yield(); /* both may be on one CPU */
      __atomic_store_n(line, mine + 1, __ATOMIC_RELEASE);
    }
    const double ns = (MPI_Wtime() - start) * 1e9 / (2 * distance_turns);
    if (batch == 0 || ns < best) best = ns;
  }
  return best;
}

/* ns of work that keeps a core busy for some us: eight sums that do not wait for each other. The
   clock is not MPI's, which may tick in us. */
static inline double time_work(void) {
  struct timespec start, end;
  unsigned long a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < work_rounds; ++i) {
    a += 1, b += 3, c += 5, d += 7, e += 9, f += 11, g += 13, h += 15;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
}

static inline double longer(double a, double b) {
  return a > b ? a : b;
}

/* Called by all ranks; ns of one way of a line, at rank 0. */
static inline double look_at_distance(struct distance* d) {
  double best = 0, mine[2] = {time_work(), 0};
  MPI_Barrier(MPI_COMM_WORLD);
  if (d->line == NULL) {
    if (d->rank > 0 && d->rank < d->size - 1) usleep(distance_sleep_us);
  } else {
    const int crowded = d->size > sysconf(_SC_NPROCESSORS_ONLN); /* both could share a CPU */
    cpu_set_t mask;
    if (crowded) mask = pin_to_end(d->rank != 0);
    best = hand_line_over(d->line, &d->turns, d->rank != 0);
    if (crowded) sched_setaffinity(0, sizeof mask, &mask);
    mine[1] = time_work();
    if (d->rank != 0) memcpy(d->line + 8, mine, sizeof mine); /* beside the line */
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (d->line != NULL && d->rank == 0) {
    double others[2];
    memcpy(others, d->line + 8, sizeof others);
    d->began_ns = longer(mine[0], others[0]);
    d->ended_ns = longer(mine[1], others[1]);
  }
  return best;
}

#endif
