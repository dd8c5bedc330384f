// SPDX-License-Identifier: Apache-2.0
// The _c forms of the collectives, blocking, nonblocking and persistent: counts and displacements
// as MPI_Count and MPI_Aint, with the same results.
#include "forms.h"

enum { count = 101 };

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  int *a = alloc(sizeof(int) * count * size), *b = alloc(sizeof(int) * count * size), wrong = 0;
  MPI_Count* counts = alloc(sizeof(MPI_Count) * size);
  MPI_Aint* places = alloc(sizeof(MPI_Aint) * size);
  MPI_Datatype* types = alloc(sizeof(MPI_Datatype) * size);
  for (int who = 0; who < size; ++who) {
    counts[who] = count;
    places[who] = (MPI_Aint)count * (size - 1 - who);
    types[who] = MPI_INT;
  }
#define SET(x) \
  for (int i = 0; i < count * size; ++i) a[i] = (x), b[i] = -1
#define EXPECT(n, x)                                    \
  do {                                                  \
    for (int i = 0; i < (n); ++i) wrong += b[i] != (x); \
    EQ(wrong, 0);                                       \
  } while (0)
  SET(rank == 1 % size ? i : -1);
  COLL_C(Bcast, bcast, a, count, MPI_INT, 1 % size, MPI_COMM_WORLD);
  memcpy(b, a, sizeof(int) * count);
  EXPECT(count, i);
  SET(rank * 1000 + i);
  COLL_C(Allgather, allgather, a, count, MPI_INT, b, count, MPI_INT, MPI_COMM_WORLD);
  EXPECT(count * size, i / count * 1000 + i % count);
  SET(rank * 1000 + i);
  COLL_C(Allgatherv, allgatherv, a, count, MPI_INT, b, counts, places, MPI_INT, MPI_COMM_WORLD);
  EXPECT(count * size, (size - 1 - i / count) * 1000 + i % count);
  SET(rank * 1000 + i);
  COLL_C(Gatherv, gatherv, a, count, MPI_INT, b, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) EXPECT(count * size, (size - 1 - i / count) * 1000 + i % count);
  SET(rank * 1000 + i);
  COLL_C(Gather, gather, a, count, MPI_INT, b, count, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) EXPECT(count * size, i / count * 1000 + i % count);
  SET(i);
  COLL_C(Scatterv, scatterv, a, counts, places, MPI_INT, b, count, MPI_INT, 0, MPI_COMM_WORLD);
  EXPECT(count, (size - 1 - rank) * count + i);
  SET(i);
  COLL_C(Scatter, scatter, a, count, MPI_INT, b, count, MPI_INT, 0, MPI_COMM_WORLD);
  EXPECT(count, rank * count + i);
  SET(rank * 1000 + i);
  COLL_C(Alltoall, alltoall, a, count, MPI_INT, b, count, MPI_INT, MPI_COMM_WORLD);
  EXPECT(count * size, i / count * 1000 + rank * count + i % count);
  SET(rank * 1000 + i);
  COLL_C(Alltoallv, alltoallv, a, counts, places, MPI_INT, b, counts, places, MPI_INT,
         MPI_COMM_WORLD);
  EXPECT(count * size, (size - 1 - i / count) * 1000 + (size - 1 - rank) * count + i % count);
  for (int who = 0; who < size; ++who) places[who] *= (MPI_Aint)sizeof(int);
  SET(rank * 1000 + i);
  COLL_C(Alltoallw, alltoallw, a, counts, places, types, b, counts, places, types, MPI_COMM_WORLD);
  EXPECT(count * size, (size - 1 - i / count) * 1000 + (size - 1 - rank) * count + i % count);
  SET(i);
  COLL_C(Allreduce, allreduce, a, b, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(count, size * i);
  SET(i);
  COLL_C(Reduce, reduce, a, b, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) EXPECT(count, size * i);
  SET(i);
  COLL_C(Scan, scan, a, b, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(count, (rank + 1) * i);
  SET(i);
  COLL_C(Exscan, exscan, a, b, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank > 0) EXPECT(count, rank * i);
  SET(i);
  COLL_C(Reduce_scatter, reduce_scatter, a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(count, size * (rank * count + i));
  SET(i);
  COLL_C(Reduce_scatter_block, reduce_scatter_block, a, b, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(count, size * (rank * count + i));
  free(a);
  free(b);
  free(counts);
  free(places);
  free(types);
  return finish();
}
