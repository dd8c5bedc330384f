// SPDX-License-Identifier: Apache-2.0
// Collectives whose own part of send and receive buffer is the same memory (MPI-5.0 §2.3, §6.2) are
// refused, in all three forms; parts that lie elsewhere in one array are fine.
#include "bad.h"

#define REFUSED(call) BAD(call, MPI_ERR_BUFFER, "MPI_IN_PLACE")
// The three forms of a collective with these arguments.
#define FORMS(name, ...)                                              \
  do {                                                                \
    REFUSED(MPI_##name(__VA_ARGS__));                                 \
    REFUSED(MPI_I##name(__VA_ARGS__, &request));                      \
    REFUSED(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)); \
  } while (0)
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  const MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF;
  MPI_Request request;
  int *a = alloc(sizeof(int) * 4 * size), *counts = alloc(sizeof(int) * size);
  int *places = alloc(sizeof(int) * size), *bytes = alloc(sizeof(int) * size);
  MPI_Datatype* types = alloc(sizeof(MPI_Datatype) * size);
  int *mine = a + 2 * rank, b[2] = {rank, rank};
  for (int i = 0; i < size; ++i) {
    counts[i] = 2, places[i] = 2 * i, bytes[i] = (int)sizeof(int) * 2 * i;
    types[i] = MPI_INT, a[2 * i] = a[2 * i + 1] = i;
  }
  // Rooted: at the root only, so the world here is the root alone.
  FORMS(Gather, b, 2, MPI_INT, b, 2, MPI_INT, 0, self);
  FORMS(Gatherv, b, 2, MPI_INT, b, counts, places, MPI_INT, 0, self);
  FORMS(Scatter, b, 2, MPI_INT, b, 2, MPI_INT, 0, self);
  FORMS(Scatterv, b, counts, places, MPI_INT, b, 2, MPI_INT, 0, self);
  FORMS(Reduce, b, b, 2, MPI_INT, MPI_SUM, 0, self);
  FORMS(Allgather, mine, 2, MPI_INT, a, 2, MPI_INT, world);
  FORMS(Allgatherv, mine, 2, MPI_INT, a, counts, places, MPI_INT, world);
  FORMS(Alltoall, a, 2, MPI_INT, a, 2, MPI_INT, world);
  FORMS(Alltoallv, a, counts, places, MPI_INT, a, counts, places, MPI_INT, world);
  FORMS(Alltoallw, a, counts, bytes, types, a, counts, bytes, types, world);
  FORMS(Allreduce, a, a, 2, MPI_INT, MPI_SUM, world);
  FORMS(Reduce_scatter, a, a, counts, MPI_INT, MPI_SUM, world);
  FORMS(Reduce_scatter_block, a, a, 2, MPI_INT, MPI_SUM, world);
  FORMS(Scan, a, a, 2, MPI_INT, MPI_SUM, world);
  FORMS(Exscan, a, a, 2, MPI_INT, MPI_SUM, world);
  REFUSED(MPI_Reduce_local(a, a, 2, MPI_INT, MPI_SUM));
  BAD(MPI_Reduce_local(MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "MPI_IN_PLACE",
      "inbuf");
  BAD(MPI_Reduce_local(a, MPI_IN_PLACE, 2, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "MPI_IN_PLACE",
      "inoutbuf");
  BAD(MPI_Send(MPI_IN_PLACE, 2, MPI_INT, rank, 0, world), MPI_ERR_BUFFER, "MPI_IN_PLACE", "buf");
  // Nothing is sent or received: nothing can be the same.
  OK(MPI_Allgather(a, 0, MPI_INT, a, 0, MPI_INT, world));
  // Other parts of one array.
  int* both = alloc(sizeof(int) * 4 * size);
  for (int i = 0; i < 2 * size; ++i) both[i] = 100 * rank + i, both[2 * size + i] = -1;
  OK(MPI_Alltoall(both, 2, MPI_INT, both + 2 * size, 2, MPI_INT, world));
  for (int i = 0; i < size; ++i) EQ(both[2 * size + 2 * i], 100 * i + 2 * rank);
  // In place is what to do instead.
  OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INT, world));
  for (int i = 0; i < size; ++i) EQ(a[2 * i], i);
  free(both);
  free(types);
  free(bytes);
  free(places);
  free(counts);
  free(a);
  return finish();
}
