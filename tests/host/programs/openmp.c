// SPDX-License-Identifier: Apache-2.0
// OpenMP teams per rank: threadprivate data, the rank's identity on all threads, and an unnamed
// critical section that all ranks hold at the same time.
#include <omp.h>
#include <stdlib.h>

#include "standin.h"

int kept = 3;
#pragma omp threadprivate(kept)
static __thread double buffer[100];
static int entered;

int main(void) {
  const int r = t_rank();
  int bad = 0, sum = 0;
  const char* wanted = getenv("OMP_NUM_THREADS");
  if (wanted && omp_get_max_threads() != atoi(wanted)) bad += 1000;
  kept += r;
#pragma omp parallel num_threads(3) reduction(+ : bad, sum)
  {
    const int id = omp_get_thread_num();
    if (id && kept != 3) bad++;
    kept = 1000 * r + id;
    buffer[id] = kept;
    if (t_rank() != r) bad += 100;
#pragma omp critical
    entered++;
#pragma omp barrier
    sum += kept;
  }
#pragma omp parallel num_threads(3) reduction(+ : bad)
  if (kept != 1000 * r + omp_get_thread_num()) bad += 10;
  if (entered != 3 || sum != 3000 * r + 3) bad += 10000;
#pragma omp critical
  t_barrier();  // deadlock if the section were common to all ranks
  return t_report("openmp", bad == 0);
}
