/* SPDX-License-Identifier: Apache-2.0 */
/* What constructs of OpenMP cost: ns each, after the method of EPCC's synchronisation benchmarks
   (the time of an inner loop with the construct, less that without). With -w after threads are
   watched, as from the first large job on.

     constructs [-w] [-b batches] */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weft/idle.h"

enum { inner = 20000, most_batches = 101 };
static volatile long sink;

static void none(void) {
#pragma omp parallel
  for (int i = 0; i < inner; ++i) sink = i;
}
static void parallel(void) {
  for (int i = 0; i < inner / 10; ++i) {
#pragma omp parallel
    sink = i;
  }
}
static void barrier(void) {
#pragma omp parallel
  for (int i = 0; i < inner; ++i) {
    sink = i;
#pragma omp barrier
  }
}
static void single(void) {
#pragma omp parallel
  for (int i = 0; i < inner; ++i) {
#pragma omp single
    sink = i;
  }
}
static void critical_free(void) {
  for (int i = 0; i < inner * 10; ++i) {
#pragma omp critical
    sink = i;
  }
}
static void critical_wanted(void) {
#pragma omp parallel
  for (int i = 0; i < inner; ++i) {
#pragma omp critical
    sink = i;
  }
}
static void tasks(void) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < inner / 10; ++i) {
#pragma omp task
    sink = i;
  }
}

static const struct {
  const char* name;
  void (*run)(void);
  double times;
} constructs[] = {{"parallel", parallel, inner / 10.0},
                  {"barrier", barrier, inner},
                  {"single", single, inner},
                  {"critical free", critical_free, inner * 10.0},
                  {"critical wanted", critical_wanted, inner},
                  {"task", tasks, inner / 10.0}};

int main(int argc, char** argv) {
  int provided, guaranteed, temporary, batches = 11, option;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  while ((option = getopt(argc, argv, "wb:")) != -1) {
    if (option == 'w') WEFT_Idle_threads(&guaranteed, &temporary);
    if (option == 'b') batches = atoi(optarg);
  }
  if (batches > most_batches) batches = most_batches;
  none();
  for (size_t c = 0; c < sizeof constructs / sizeof *constructs; ++c) {
    constructs[c].run();
    printf("{\"row\": \"%s\", \"threads\": %d, \"ns\": [", constructs[c].name,
           omp_get_max_threads());
    for (int i = 0; i < batches; ++i) {
      const double start = omp_get_wtime();
      constructs[c].run();
      printf("%s%.5g", i ? ", " : "", (omp_get_wtime() - start) * 1e9 / constructs[c].times);
    }
    printf("]}\n");
  }
  MPI_Finalize();
  return 0;
}
