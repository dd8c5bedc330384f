// SPDX-License-Identifier: Apache-2.0
// Part of profiled.c, or a library of it: calls MPI by name and through a table.
#include <mpi.h>

static struct {
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
} calls = {MPI_Send};

void send_to_self(int rank) {
  MPI_Request request;
  int value;
  MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  if (rank % 2)
    MPI_Send(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
  else
    calls.send(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
