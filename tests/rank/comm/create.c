// SPDX-License-Identifier: Apache-2.0
// Comm_create and Comm_create_group: members in the group's order, nothing for the others, several
// at once with different tags, and hundreds created and freed.
#include "../check.h"

static void check(MPI_Comm comm, MPI_Group group) {
  int me, all, group_rank, group_size, result = -1;
  MPI_Group back;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &all));
  OK(MPI_Group_rank(group, &group_rank));
  OK(MPI_Group_size(group, &group_size));
  EQ(me, group_rank);
  EQ(all, group_size);
  OK(MPI_Comm_group(comm, &back));
  OK(MPI_Group_compare(group, back, &result));
  EQ(result, MPI_IDENT);
  OK(MPI_Group_free(&back));
  int root_world = -1, first = 0;
  MPI_Group world;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  const int zero = 0;
  OK(MPI_Group_translate_ranks(group, 1, &zero, world, &first));
  root_world = rank;
  OK(MPI_Bcast(&root_world, 1, MPI_INT, 0, comm));
  EQ(root_world, first);
  OK(MPI_Group_free(&world));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Group world, odd_out, reversed;
  MPI_Comm comm;
  const int last = size - 1, range[1][3] = {{size - 1, 0, -1}};
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_range_incl(world, 1, (int(*)[3])range, &reversed));
  OK(MPI_Comm_create(MPI_COMM_WORLD, reversed, &comm));
  check(comm, reversed);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_excl(world, 1, &last, &odd_out));  // all but the last
  OK(MPI_Comm_create(MPI_COMM_WORLD, odd_out, &comm));
  CHECK((comm == MPI_COMM_NULL) == (rank == last), "Comm_create gave rank %d %s", rank,
        comm == MPI_COMM_NULL ? "nothing" : "a communicator");
  if (comm != MPI_COMM_NULL) {
    check(comm, odd_out);
    OK(MPI_Comm_free(&comm));
  }
  // Only members call Comm_create_group; two at once with different tags.
  if (rank != last) {
    MPI_Comm other;
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, odd_out, 11, &comm));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, odd_out, 12, &other));
    check(comm, odd_out);
    check(other, odd_out);
    int result = -1;
    OK(MPI_Comm_compare(comm, other, &result));
    EQ(result, MPI_CONGRUENT);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_free(&comm));
  }
  OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
  CHECK(comm == MPI_COMM_NULL, "Comm_create of nobody gave a communicator");
  for (int i = 0; i < 300; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (i % 50 == 0) OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
  }
  // Many alive at once.
  enum { many = 200 };
  MPI_Comm alive[many];
  for (int i = 0; i < many; ++i)
    OK(MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 2, rank, &alive[i]));
  for (int i = 0; i < many; ++i) {
    int count = 1, sum = 0, all;
    OK(MPI_Comm_size(alive[i], &all));
    OK(MPI_Allreduce(&count, &sum, 1, MPI_INT, MPI_SUM, alive[i]));
    EQ(sum, all);
    OK(MPI_Comm_free(&alive[i]));
  }
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&odd_out));
  OK(MPI_Group_free(&reversed));
  return finish();
}
