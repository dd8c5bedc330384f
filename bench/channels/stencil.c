/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil of examples/stencil without channels.

     mpiexec -n 4 stencil [--size M] [--steps T] mpi        by messages, any MPI
     stencil [--size M] [--steps T] shared THREADS          threads of a process, and a barrier
     OMP_NUM_THREADS=4 stencil [--size M] [--steps T] openmp

   The line that is printed is that of the example. --check compares as there. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static int rank, size, m = 1080, steps = 100;

static double* matrix(int rows) {
  double* p = calloc((size_t)rows * (size_t)m, sizeof *p);
  if (p == NULL) abort();
  return p;
}
static double initial(int row, int column) {
  return (row * 31 + column * 17) % 101;
}
static int first_row(int who, int of) {
  return (int)((long)m * who / of);
}
static void row_step(double* out, const double* above, const double* row, const double* below) {
  for (int j = 0; j < m; ++j)
    out[j] =
        (row[j] + above[j] + below[j] + (j > 0 ? row[j - 1] : 0) + (j < m - 1 ? row[j + 1] : 0)) /
        5;
}
static void draw(double* rows, int first, int count) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < m; ++j) rows[(long)i * m + j] = initial(first + i, j);
}
static void report(const char* way, int parts, double seconds) {
  printf("stencil: %s, %d ranks, %d x %d, %d steps: %.2f ms\n", way, parts, m, m, steps,
         seconds * 1e3);
}
static void swap(double** a, double** b) {
  double* c = *a;
  *a = *b;
  *b = c;
}

static void by_messages(void) {
  const int rows = first_row(rank + 1, size) - first_row(rank, size);
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  double *now = matrix(rows), *next = matrix(rows), *above = matrix(1), *below = matrix(1);
  draw(now, first_row(rank, size), rows);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int t = 0; t < steps; ++t, swap(&now, &next)) {
    MPI_Request request[4];
    const double* last = now + (long)(rows - 1) * m;
    MPI_Irecv(above, m, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(below, m, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(now, m, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(last, m, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &request[3]);
    for (int i = 1; i + 1 < rows; ++i)
      row_step(next + (long)i * m, now + (long)(i - 1) * m, now + (long)i * m,
               now + (long)(i + 1) * m);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    row_step(next, above, now, rows > 1 ? now + m : below);
    if (rows > 1) row_step(next + (long)(rows - 1) * m, last - m, last, below);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) report("mpi", size, MPI_Wtime() - begin);
}

/* --- threads that share two matrices, with a row of zeros on either side */

static struct team {
  int threads;
  double *now, *next;
  atomic_int here;
  atomic_long step;
} team;

static void meet(long step) {
  if (atomic_fetch_add(&team.here, 1) == team.threads - 1) {
    atomic_store_explicit(&team.here, 0, memory_order_relaxed);
    atomic_store(&team.step, step);
  } else {
    for (int spins = 0; atomic_load(&team.step) != step; ++spins)
      if (spins > 2000) sched_yield();
  }
}
static void step_rows(const double* now, double* next, int first, int last) {
  for (int i = first; i < last; ++i)
    row_step(next + (long)(i + 1) * m, now + (long)i * m, now + (long)(i + 1) * m,
             now + (long)(i + 2) * m);
}
static void* take_part(void* number) {
  const int me = (int)(long)number;
  double *now = team.now, *next = team.next;
  for (int t = 0; t < steps; ++t, swap(&now, &next)) {
    step_rows(now, next, first_row(me, team.threads), first_row(me + 1, team.threads));
    meet(t + 1);
  }
  return NULL;
}
static void by_threads(int threads, int openmp) {
  pthread_t thread[256];
  team.threads = threads;
  team.now = matrix(m + 2);
  team.next = matrix(m + 2);
  draw(team.now + m, 0, m);
  const double begin = MPI_Wtime();
  if (openmp) {
    double *now = team.now, *next = team.next;
    for (int t = 0; t < steps; ++t, swap(&now, &next)) {
#pragma omp parallel for schedule(static)
      for (int i = 0; i < m; ++i) step_rows(now, next, i, i + 1);
    }
  } else {
    for (long i = 1; i < threads; ++i) pthread_create(&thread[i], NULL, take_part, (void*)i);
    take_part(NULL);
    for (int i = 1; i < threads; ++i) pthread_join(thread[i], NULL);
  }
  report(openmp ? "openmp" : "shared", threads, MPI_Wtime() - begin);
}

int main(int argc, char** argv) {
  int threads = 0, openmp = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      m = atoi(argv[++i]);
    else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
      steps = atoi(argv[++i]);
    else if (strcmp(argv[i], "shared") == 0 && i + 1 < argc)
      threads = atoi(argv[++i]);
    else if (strcmp(argv[i], "openmp") == 0)
      openmp = 1;
#ifdef _OPENMP
  if (openmp) threads = omp_get_max_threads();
#endif
  if (m < size || steps < 0 || threads > 256 || (openmp && threads == 0)) {
    fprintf(stderr, "stencil: at least a row for each rank, at most 256 threads\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (threads > 0)
    by_threads(threads, openmp);
  else
    by_messages();
  MPI_Finalize();
  return 0;
}
