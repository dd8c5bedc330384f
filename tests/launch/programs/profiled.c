// SPDX-License-Identifier: Apache-2.0
// A program to be profiled: each rank sends rank + 3 messages to itself and reduces twice; then,
// when profiling is switched off, once more.
#include <mpi.h>

#ifdef WORK_IN_LIBRARY
void send_to_self(int rank);
#else
#include "profiled_work.c"
#endif

int main(int argc, char** argv) {
  int (*const reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) = MPI_Allreduce;
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < rank + 3; ++i) send_to_self(rank);
  for (int i = 0; i < 2; ++i) reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Pcontrol(0);
  send_to_self(rank);
  reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
