// SPDX-License-Identifier: Apache-2.0
// Every rank prints its rank and the CPUs that its thread may run on.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  char text[8192] = "";
  int at = 0;
  cpu_set_t set;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set))
      at += snprintf(text + at, sizeof text - at, "%s%d", at > 0 ? "," : "", cpu);
  printf("%d on %s\n", rank, text);
  MPI_Finalize();
  return 0;
}
