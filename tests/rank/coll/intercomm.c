// SPDX-License-Identifier: Apache-2.0
// Collectives between two groups: even ranks and odd ranks. Data flows from one group to the other,
// both ways in the symmetric ones; rooted ones name MPI_ROOT, MPI_PROC_NULL and the remote root.
#include "forms.h"

enum { n = 300 };

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  if (size < 2) return finish();
  MPI_Comm local, inter;
  int me, mine, theirs, wrong = 0;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local));
  OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter));
  OK(MPI_Comm_rank(inter, &me));
  OK(MPI_Comm_size(inter, &mine));
  OK(MPI_Comm_remote_size(inter, &theirs));
  const int even = rank % 2 == 0, most = size;
  int *a = alloc(sizeof(int) * n * most), *b = alloc(sizeof(int) * n * most);
#define SET(x) \
  for (int i = 0; i < n * most; ++i) a[i] = (x), b[i] = -1
#define EXPECT(count, x)                                    \
  do {                                                      \
    for (int i = 0; i < (count); ++i) wrong += b[i] != (x); \
    EQ(wrong, 0);                                           \
  } while (0)
  // From the even group's last rank to all odd ones.
  const int evens = even ? mine : theirs,
            root = even ? (me == evens - 1 ? MPI_ROOT : MPI_PROC_NULL) : evens - 1;
  // Beside the root no other argument counts.
  const int beside = root == MPI_PROC_NULL, m = beside ? -1 : n;
  const MPI_Datatype type = beside ? MPI_DATATYPE_NULL : MPI_INT;
  COLL(Barrier, barrier, inter);
  SET(item(rank, 0, i));
  COLL(Bcast, bcast, a, m, type, root, inter);
  if (!even) memcpy(b, a, sizeof(int) * n);
  if (!even) EXPECT(n, item(2 * (evens - 1), 0, i));
  // The odd group's data to the even root, and back out.
  SET(item(rank, 1, i));
  COLL(Gather, gather, a, m, type, b, m, type, root, inter);
  if (root == MPI_ROOT) EXPECT(n * theirs, item(2 * (i / n) + 1, 1, i % n));
  SET(item(rank, 2, i));
  COLL(Scatter, scatter, a, m, type, b, m, type, root, inter);
  if (!even) EXPECT(n, item(2 * (evens - 1), 2, (long)me * n + i));
  SET(rank + i);
  COLL(Reduce, reduce, a, b, m, type, beside ? MPI_OP_NULL : MPI_MAX, root, inter);
  if (root == MPI_ROOT) EXPECT(n, 2 * (theirs - 1) + 1 + i);
  // Symmetric ones: everybody gets what the other group has.
  SET(rank + i);
  COLL(Allreduce, allreduce, a, b, n, MPI_INT, MPI_MAX, inter);
  EXPECT(n, 2 * (theirs - 1) + even + i);
  SET(item(rank, 3, i));
  COLL(Allgather, allgather, a, n, MPI_INT, b, n, MPI_INT, inter);
  EXPECT(n * theirs, item(2 * (i / n) + even, 3, i % n));
  SET(item(rank, 4, i));
  COLL(Alltoall, alltoall, a, n, MPI_INT, b, n, MPI_INT, inter);
  EXPECT(n * theirs, item(2 * (i / n) + even, 4, (long)me * n + i % n));
  free(a);
  free(b);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&local));
  return finish();
}
