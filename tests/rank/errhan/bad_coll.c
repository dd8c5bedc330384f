// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of collectives, made by all ranks alike (so that nobody waits): class and
// sentence of each.
#include "bad.h"

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  int a[4] = {1, 2, 3, 4}, b[64];
  double d[2] = {0, 0}, e[2];
  char c = 'x', f;
  const MPI_Comm world = MPI_COMM_WORLD;
  int *counts = alloc(sizeof(int) * size), *places = alloc(sizeof(int) * size);
  char far[20];
  MPI_Datatype open, derived;
  MPI_Request request;
  snprintf(far, sizeof far, "%d", size + 2);
  OK(MPI_Type_contiguous(2, MPI_INT, &open));
  OK(MPI_Type_contiguous(2, MPI_INT, &derived));
  OK(MPI_Type_commit(&derived));
  for (int i = 0; i < size; ++i) counts[i] = -4, places[i] = 0;
  BAD(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, "MPI_COMM_NULL");
  BAD(MPI_Bcast(a, -1, MPI_INT, 0, world), MPI_ERR_COUNT, "-1");
  BAD(MPI_Bcast(a, 1, MPI_INT, size + 2, world), MPI_ERR_ROOT, far, "root");
  BAD(MPI_Bcast(a, 1, MPI_INT, -1, world), MPI_ERR_ROOT, "-1", "root");
  BAD(MPI_Bcast(NULL, 1, MPI_INT, 0, world), MPI_ERR_BUFFER, "null");
  BAD(MPI_Bcast(a, 1, open, 0, world), MPI_ERR_TYPE, "commit");
  BAD(MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, size, world), MPI_ERR_ROOT, "root");
  BAD(MPI_Gather(a, -1, MPI_INT, b, 1, MPI_INT, 0, world), MPI_ERR_COUNT, "-1");
  BAD(MPI_Scatter(a, 1, MPI_INT, b, -1, MPI_INT, 0, world), MPI_ERR_COUNT, "-1");
  BAD(MPI_Allgather(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_INT, world), MPI_ERR_TYPE,
      "MPI_DATATYPE_NULL");
  BAD(MPI_Allgatherv(a, 1, MPI_INT, b, counts, places, MPI_INT, world), MPI_ERR_COUNT, "-4");
  BAD(MPI_Alltoall(a, -2, MPI_INT, b, -2, MPI_INT, world), MPI_ERR_COUNT, "-2");
  BAD(MPI_Alltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, world), MPI_ERR_COUNT,
      "-4");
  BAD(MPI_Allreduce(a, b, -1, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "-1");
  BAD(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP, "MPI_OP_NULL");
  BAD(MPI_Allreduce(d, e, 1, MPI_DOUBLE, MPI_BAND, world), MPI_ERR_OP, "MPI_BAND", "MPI_DOUBLE");
  BAD(MPI_Allreduce(a, b, 1, MPI_INT, MPI_MINLOC, world), MPI_ERR_OP, "MPI_MINLOC", "MPI_INT");
  BAD(MPI_Allreduce(a, b, 1, derived, MPI_SUM, world), MPI_ERR_OP, "MPI_SUM");
  BAD(MPI_Reduce(&c, &f, 1, MPI_PACKED, MPI_MAX, 0, world), MPI_ERR_OP, "MPI_MAX", "MPI_PACKED");
  BAD(MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, size, world), MPI_ERR_ROOT, "root");
  BAD(MPI_Reduce_local(d, e, 1, MPI_DOUBLE, MPI_LXOR), MPI_ERR_OP, "MPI_LXOR", "MPI_DOUBLE");
  BAD(MPI_Scan(a, b, 1, open, MPI_SUM, world), MPI_ERR_TYPE, "commit");
  BAD(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "-4");
  BAD(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  BAD(MPI_Ibcast(a, -1, MPI_INT, 0, world, &request), MPI_ERR_COUNT, "-1");
  BAD(MPI_Iallreduce(a, b, 1, MPI_INT, MPI_OP_NULL, world, &request), MPI_ERR_OP, "MPI_OP_NULL");
  // The communicator still works.
  int sum = 0, one = 1;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world));
  EQ(sum, size);
  OK(MPI_Type_free(&open));
  OK(MPI_Type_free(&derived));
  free(counts);
  free(places);
  return finish();
}
