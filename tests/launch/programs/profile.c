// SPDX-License-Identifier: Apache-2.0
// A profiling tool as the standard means it: wraps some calls, counts, and reports at Finalize.
// Built as a library for LD_PRELOAD and for link order.
#include <mpi.h>
#include <stdio.h>

static int sends, reductions;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++reductions;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("profile: rank %d, %d sends, %d reductions\n", rank, sends, reductions);
  fflush(stdout);
  return PMPI_Finalize();
}
