// SPDX-License-Identifier: Apache-2.0
// WEFT_Idle_threads in the cases of figure 2 of MT-MPI (ICS'14), with 4 threads: who is guaranteed
// to be idle, and who is for now. A number that is expected may take a moment to come; one that
// must not rise is looked at for a while.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weft/idle.h"

enum { threads = 4 };
static int failures, told;  // told: the runtime tells who runs tasks
static volatile int late = 1, holds, asked, running = 1, begun;

/// temporary < 0: at least -temporary.
static void expect(const char* where, int guaranteed, int temporary) {
  int g = -1, t = -1;
  int good = 0;
  for (int i = 0; i < 2000 && !good; ++i) {
    if (i > 0) usleep(2000);
    WEFT_Idle_threads(&g, &t);
    good = g == guaranteed && (temporary < 0 ? t >= -temporary : t == temporary);
  }
  printf("%s: guaranteed %d, temporary %d%s\n", where, g, t, good ? "" : " (wrong)");
  if (good) return;
  fprintf(stderr, "%s: guaranteed %d, temporary %d; expected %d and %d\n", where, g, t, guaranteed,
          temporary);
  ++failures;
}

int main(int argc, char** argv) {
  int provided, g = 0, t = 0, entered = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  told = argc > 1 && strcmp(argv[1], "-t") == 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  omp_set_num_threads(threads);
  omp_set_max_active_levels(2);
  WEFT_Idle_threads(NULL, NULL);  // begins to watch; neither number is wanted
#pragma omp parallel
#pragma omp atomic
  ++entered;
  expect("outside of regions", threads - 1, 0);
#pragma omp parallel
  {
#pragma omp single
    expect("in single, the others at its barrier", threads - 1, 0);
#pragma omp single nowait
    expect("in single nowait, the others at the next barrier", threads - 1, 0);
#pragma omp barrier
#pragma omp master
    expect("in master, the others at the next barrier", threads - 1, 0);
#pragma omp barrier
  }
  // A late thread is not idle, then it is: while one stays in a region the number only rises.
#pragma omp parallel
  {
    if (omp_get_thread_num() == 2)
      while (late) usleep(100);
#pragma omp single nowait
    {
      expect("in single nowait, one thread late", threads - 2, 0);
      late = 0;
      expect("in single nowait, the late one has come", threads - 1, 0);
    }
#pragma omp barrier
  }
  // Threads that wait for the section one is in, or have left it for the barrier.
#pragma omp parallel
#pragma omp critical(mpi)
  expect("in critical", threads - 1, 0);
  // For another critical section: temporary.
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    if (me == threads - 1) {
      while (!holds) usleep(100);
      expect("in no critical, two wait for that of a third", 0, 2);
      asked = 1;
    } else {
      while (me > 0 && !holds) usleep(100);
#pragma omp critical(other)
      {
        holds = 1;
        while (me == 0 && !asked) usleep(100);
      }
    }
  }
  // Threads that run tasks at a barrier are busy; libgomp does not say which these are.
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 2; ++i)
#pragma omp task
    {
#pragma omp atomic
      ++begun;
      while (running) usleep(100);
    }
    while (begun < 2) usleep(100);
    if (told)
      expect("in single, two of three run tasks", 1, 0);
    else
      expect("in single, with tasks of the team", 0, 3);
    running = 0;
  }
  // Of an inner team those of the outer one are idle for now only, and so is who is in no team.
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp parallel num_threads(2)
#pragma omp single
      expect("in single of an inner team", 1, -1);
    }
  }
#pragma omp parallel
#pragma omp atomic
  ++entered;
  expect("outside of regions again", threads - 1, 0);
  MPI_Finalize();
  if (failures == 0) printf("ok\n");
  return failures != 0;
}
