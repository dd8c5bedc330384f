// SPDX-License-Identifier: Apache-2.0
// Intercommunicators: create, remote groups, messages across, compare, dup, split, merge in both
// orders.
#include "../check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (size < 2) return finish();
  const int half = size / 2, low = rank < half;
  MPI_Comm local, inter, copy, merged, part;
  int flag = 0, me, mine, theirs, result = -1, got = -1;
  OK(MPI_Comm_split(MPI_COMM_WORLD, low, rank, &local));
  // Peer and remote leader count at the leaders only.
  const int leads = rank == 0 || rank == half;
  OK(MPI_Intercomm_create(local, 0, leads ? MPI_COMM_WORLD : MPI_COMM_NULL,
                          leads ? half - rank : -1, 4, &inter));
  OK(MPI_Comm_test_inter(inter, &flag));
  EQ(flag, 1);
  OK(MPI_Comm_rank(inter, &me));
  OK(MPI_Comm_size(inter, &mine));
  OK(MPI_Comm_remote_size(inter, &theirs));
  EQ(me, low ? rank : rank - half);
  EQ(mine, low ? half : size - half);
  EQ(theirs, low ? size - half : half);
  // The remote group, translated to the world.
  MPI_Group remote, world;
  OK(MPI_Comm_remote_group(inter, &remote));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int i = 0; i < theirs; ++i) {
    int there = -1;
    OK(MPI_Group_translate_ranks(remote, 1, &i, world, &there));
    EQ(there, low ? half + i : i);
  }
  OK(MPI_Group_free(&remote));
  OK(MPI_Group_free(&world));
  // Ranks name the other side: member i of one half talks to member i of the other.
  if (me < theirs && me < mine) {
    MPI_Status status;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, me, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, &status));
    EQ(got, low ? half + me : me);
    EQ(status.MPI_SOURCE, me);
  }
  OK(MPI_Comm_dup(inter, &copy));
  OK(MPI_Comm_compare(inter, copy, &result));
  EQ(result, MPI_CONGRUENT);
  OK(MPI_Comm_compare(inter, inter, &result));
  EQ(result, MPI_IDENT);
  OK(MPI_Comm_compare(inter, local, &result));
  EQ(result, MPI_UNEQUAL);
  // Merge: the half that says high = 0 comes first.
  for (int low_first = 0; low_first < 2; ++low_first) {
    int all, at;
    OK(MPI_Intercomm_merge(copy, low == low_first ? 0 : 1, &merged));
    OK(MPI_Comm_size(merged, &all));
    OK(MPI_Comm_rank(merged, &at));
    EQ(all, size);
    if (low_first) {
      EQ(at, rank);
    } else {
      EQ(at, low ? rank + (size - half) : rank - half);
    }
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    EQ(sum, size * (size - 1) / 2);
    OK(MPI_Comm_free(&merged));
  }
  OK(MPI_Comm_free(&copy));
  // Split: the even members of both sides, and the odd ones where both sides have them.
  OK(MPI_Comm_split(inter, me % 2, me, &part));
  if (part != MPI_COMM_NULL) {
    OK(MPI_Comm_test_inter(part, &flag));
    EQ(flag, 1);
    int local_size, remote_size;
    OK(MPI_Comm_size(part, &local_size));
    OK(MPI_Comm_remote_size(part, &remote_size));
    EQ(local_size, (mine + 1 - me % 2) / 2);
    EQ(remote_size, (theirs + 1 - me % 2) / 2);
    OK(MPI_Comm_free(&part));
  } else {
    CHECK(me % 2 && theirs < 2, "split of an intercommunicator gave member %d nothing", me);
  }
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&local));
  return finish();
}
