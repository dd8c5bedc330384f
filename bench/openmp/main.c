/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenMP's reduction of an array costs (figure 20 of Li, Hoefler, Snir, HPDC 2013): each
   thread adds its vector of doubles to the sum of all. Prints rows as ../rows.h does, "reduce" of
   so many threads; a vector has a new value in every line each time, as in ../collectives.

     main [-b batches] [-t ms] [-l seconds] [-m max bytes] */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { line_doubles = 8, most_batches = 101 };
static double *sum, **vectors;
static long stamp, errors;

/* Every thread changes its vector, all add them, the result is looked at. */
static void reduce(long n) {
  const int threads = omp_get_max_threads();
  const double value = (double)(++stamp % 1024);
  for (long i = 0; i < n; ++i) sum[i] = 0;
#pragma omp parallel reduction(+ : sum[ : n])
  {
    const double mine = value + omp_get_thread_num();
    double* vector = vectors[omp_get_thread_num()];
    for (long i = 0; i < n; i += line_doubles) vector[i] = mine;
    vector[n - 1] = mine;
    for (long i = 0; i < n; ++i) sum[i] += vector[i];
  }
  const double wanted = threads * value + threads * (threads - 1) / 2.0;
  errors += sum[0] != wanted || sum[n - 1] != wanted;
}

static double timed(long n, long times) {
  const double start = omp_get_wtime();
  for (long i = 0; i < times; ++i) reduce(n);
  return omp_get_wtime() - start;
}

static void row(long bytes, int batches, double batch_s, double limit_s) {
  const long n = bytes / 8;
  errors = 0;
  timed(n, 1);
  double once = timed(n, 4) / 4;
  if (once < 1e-9) once = 1e-9;
  const long times = once < batch_s ? (long)(batch_s / once) : 1;
  printf("{\"row\": \"reduce\", \"ranks\": %d, \"bytes\": %ld, \"us\": [", omp_get_max_threads(),
         bytes);
  double spent = 0;
  for (int i = 0; i < batches && (i == 0 || spent < limit_s); ++i) {
    const double seconds = timed(n, times);
    spent += seconds;
    printf("%s%.5g", i ? ", " : "", seconds / (double)times * 1e6);
  }
  printf("], \"errors\": %ld}\n", errors);
}

int main(int argc, char** argv) {
  int batches = 11, option;
  double batch_s = 2e-3, limit_s = 1;
  long most = 4 << 20;
  while ((option = getopt(argc, argv, "b:t:l:m:")) != -1) {
    if (option == 'b') batches = atoi(optarg);
    if (option == 't') batch_s = atof(optarg) * 1e-3;
    if (option == 'l') limit_s = atof(optarg);
    if (option == 'm') most = atol(optarg);
  }
  const int threads = omp_get_max_threads();
  sum = calloc((size_t)most + 64, 1);
  vectors = calloc((size_t)threads, sizeof *vectors);
  /* gcc keeps private copies of the array on the threads' stacks: OMP_STACKSIZE, set by who runs.
   */
  if (sum == NULL || vectors == NULL) return 1;
#pragma omp parallel
  vectors[omp_get_thread_num()] = calloc((size_t)most + 64, 1);
  for (int i = 0; i < threads; ++i)
    if (vectors[i] == NULL) return 1;
  static const long sizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    if (sizes[i] <= most)
      row(sizes[i], batches < most_batches ? batches : most_batches, batch_s, limit_s);
  return 0;
}
