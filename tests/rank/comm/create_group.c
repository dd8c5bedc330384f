// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_create_group (MPI-5.0 §7.4.2): changing groups of the same ranks, one after the other,
// all with one tag. Nobody waits for ranks outside of its group, so the constructions of different
// groups overlap; a rank's part in one must not be taken for its part in another.
#include "../check.h"

enum { rounds = 400 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Group world, group;
  int* ranks = alloc(sizeof(int) * size);
  unsigned state = 1;  // the same sequence of groups on every rank
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int i = 0; i < rounds; ++i) {
    int members = 0, mine = -1;
    for (int who = 0; who < size; ++who) {
      state = state * 1103515245u + 12345u;
      if (!(state >> 16 & 1)) continue;
      if (who == rank) mine = members;
      ranks[members++] = who;
    }
    if (mine < 0) continue;
    MPI_Comm comm;
    int me = -1, all = -1, first = rank;
    OK(MPI_Group_incl(world, members, ranks, &group));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm));
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &all));
    EQ(me, mine);
    EQ(all, members);
    OK(MPI_Bcast(&first, 1, MPI_INT, 0, comm));
    EQ(first, ranks[0]);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
  }
  OK(MPI_Group_free(&world));
  free(ranks);
  return finish();
}
