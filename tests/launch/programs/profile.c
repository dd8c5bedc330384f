// SPDX-License-Identifier: Apache-2.0
// A profiling tool as the standard means it: wraps some calls, counts, and reports at Finalize. Its
// counters are plain globals: each rank must have its own. Built as a library or into the program.
#include <mpi.h>
#include <stdio.h>

static int sends, reductions, is_off;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  sends += !is_off;
  return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  reductions += !is_off;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Pcontrol(const int level, ...) {
  is_off = level == 0;
  return PMPI_Pcontrol(level);
}

int MPI_Finalize(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("profile: rank %d, %d sends, %d reductions\n", rank, sends, reductions);
  fflush(stdout);
  return PMPI_Finalize();
}
