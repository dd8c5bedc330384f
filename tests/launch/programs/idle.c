// SPDX-License-Identifier: Apache-2.0
// All ranks but 0 wait 3 s for a message from it, on whatever node they are. The last rank prints
// the CPU time that its process took meanwhile, in ms, and how often the kernel took it off a CPU
// or put it on one.
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double ms(const struct rusage* u) {
  return 1e3 * (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
         1e-3 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  int rank, size, value = 0;
  struct rusage before, after;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(300000);
  MPI_Barrier(MPI_COMM_WORLD);
  getrusage(RUSAGE_SELF, &before);
  if (rank == 0) {
    sleep(3);
    for (int to = 1; to < size; ++to) MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  getrusage(RUSAGE_SELF, &after);
  if (rank == size - 1)
    printf("%.1f %ld\n", ms(&after) - ms(&before),
           after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
  MPI_Finalize();
  return 0;
}
