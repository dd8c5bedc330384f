// SPDX-License-Identifier: Apache-2.0
// Without data a buffer may be anything: containers without elements give null, or small odd
// numbers. With data these, and the constants that stand for something else, are refused.
#include "bad.h"

static void* const nowhere[] = {NULL,     (void*)2,       (void*)4,
                                (void*)8, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};

static void without_data(void* p, MPI_Datatype type, int n) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int *counts = alloc(sizeof(int) * size), *places = alloc(sizeof(int) * size);
  MPI_Datatype* types = alloc(sizeof(MPI_Datatype) * size);
  MPI_Request request[2];
  for (int i = 0; i < size; ++i) counts[i] = n, places[i] = 0, types[i] = type;
  OK(MPI_Irecv(p, n, type, left_of(rank), 1, world, &request[0]));
  OK(MPI_Isend(p, n, type, right_of(rank), 1, world, &request[1]));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  OK(MPI_Bcast(p, n, type, 0, world));
  OK(MPI_Bcast(n == 0 ? MPI_IN_PLACE : p, n, type, 0, world));
  OK(MPI_Gather(p, n, type, p, n, type, 0, world));
  OK(MPI_Scatterv(p, counts, places, type, p, n, type, 0, world));
  OK(MPI_Allgatherv(p, n, type, p, counts, places, type, world));
  OK(MPI_Alltoall(p, n, type, p, n, type, world));
  OK(MPI_Alltoallw(p, counts, places, types, p, counts, places, types, world));
  if (n == 0) OK(MPI_Allreduce(p, p, n, type, MPI_SUM, world));
  OK(MPI_Ibcast(p, n, type, 0, world, &request[0]));
  OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
  free(counts);
  free(places);
  free(types);
}

static void with_data(void* p) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int x = 0, *all = alloc(sizeof(int) * size);
  BAD(MPI_Send(p, 1, MPI_INT, MPI_PROC_NULL, 0, world), MPI_ERR_BUFFER, "buf is ");
  BAD(MPI_Bcast(p, 1, MPI_INT, 0, world), MPI_ERR_BUFFER, "buffer is ");
  BAD(MPI_Allgather(&x, 1, MPI_INT, p, 1, MPI_INT, world), MPI_ERR_BUFFER, "recvbuf is ");
  if (p != MPI_IN_PLACE)
    BAD(MPI_Allreduce(p, &x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "sendbuf is ");
  // The root of each is another rank, so that nobody waits.
  if (size > 1) {
    const int other = (rank + 1) % size;
    BAD(MPI_Reduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, other, world), MPI_ERR_BUFFER,
        "MPI_IN_PLACE", "root");
    BAD(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, NULL, 1, MPI_INT, other, world), MPI_ERR_BUFFER,
        "MPI_IN_PLACE");
    BAD(MPI_Scatter(NULL, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, other, world), MPI_ERR_BUFFER,
        "MPI_IN_PLACE");
  }
  // And where it is right.
  OK(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, world));
  free(all);
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  MPI_Datatype empty;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; ++i) {
    without_data(nowhere[i], MPI_INT, 0);
    without_data(nowhere[i], empty, 3);
    with_data(nowhere[i]);
  }
  with_data(MPI_IN_PLACE);
  OK(MPI_Type_free(&empty));
  return finish();
}
