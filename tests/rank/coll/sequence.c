// SPDX-License-Identifier: Apache-2.0
// A long random sequence of collectives with random roots and counts on several communicators,
// while point-to-point receives with wildcards are pending: no collective may take another's
// message or the user's.
#include "forms.h"

enum { rounds = 300, communicators = 4 };

static unsigned state;
static unsigned draw(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 10) % below;
}

static void one(MPI_Comm comm, int round) {
  int me, all;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &all));
  const int root = (int)draw(1000) % all, kind = (int)draw(8),
            count = (int)draw(4)   ? (int)draw(50)
                    : (int)draw(8) ? (int)draw(20000)
                                   : (int)draw(80000);
  int *a = alloc(sizeof(int) * (count * all + 1)), *b = alloc(sizeof(int) * (count * all + 1)),
      wrong = 0;
  for (int i = 0; i < count * all; ++i) {
    a[i] = item(me, round, i);
    b[i] = -1;
  }
  switch (kind) {
    case 0:
      COLL(Barrier, barrier, comm);
      break;
    case 1:
      COLL(Bcast, bcast, a, count, MPI_INT, root, comm);
      for (int i = 0; i < count; ++i) wrong += a[i] != item(root, round, i);
      break;
    case 2:
      COLL(Gather, gather, a, count, MPI_INT, b, count, MPI_INT, root, comm);
      for (int i = 0; i < count * all && me == root; ++i)
        wrong += b[i] != item(i / count, round, i % count);
      break;
    case 3:
      COLL(Scatter, scatter, a, count, MPI_INT, b, count, MPI_INT, root, comm);
      for (int i = 0; i < count; ++i) wrong += b[i] != item(root, round, (long)me * count + i);
      break;
    case 4:
      COLL(Allgather, allgather, a, count, MPI_INT, b, count, MPI_INT, comm);
      for (int i = 0; i < count * all; ++i) wrong += b[i] != item(i / count, round, i % count);
      break;
    case 5:
      COLL(Alltoall, alltoall, a, count, MPI_INT, b, count, MPI_INT, comm);
      for (int i = 0; i < count * all; ++i)
        wrong += b[i] != item(i / count, round, (long)me * count + i % count);
      break;
    case 6:
      COLL(Allreduce, allreduce, a, b, count, MPI_INT, MPI_MAX, comm);
      for (int i = 0; i < count; ++i) wrong += b[i] != item(all - 1, round, i);
      break;
    default:
      COLL(Reduce, reduce, a, b, count, MPI_INT, MPI_MIN, root, comm);
      for (int i = 0; i < count && me == root; ++i) wrong += b[i] != item(0, round, i);
  }
  CHECK(wrong == 0, "round %d, kind %d, root %d of %d, count %d: %d items wrong", round, kind, root,
        all, count, wrong);
  free(a);
  free(b);
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  MPI_Comm comm[communicators];
  MPI_Request wild, sent;
  int in = -1, out = rank;
  comm[0] = MPI_COMM_WORLD;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm[2]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm[3]));
  for (int round = 0; round < rounds; ++round) {
    if (round % 10 == 0)
      OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &wild));
    if (round % 10 == 5)
      OK(MPI_Isend(&out, 1, MPI_INT, right_of(rank), round, MPI_COMM_WORLD, &sent));
    // All draw the same numbers: in the same order on every rank. The halves differ in size, not in
    // the draws.
    state = (unsigned)round * 2654435761u;
    one(comm[draw(communicators)], round);
    if (round % 10 == 9) {
      MPI_Status status;
      OK(MPI_Wait(&wild, &status));
      STATUS(&status, left_of(rank), round - 4, sizeof(int));
      EQ(in, left_of(rank));
      OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    }
  }
  for (int i = 1; i < communicators; ++i) OK(MPI_Comm_free(&comm[i]));
  return finish();
}
