// SPDX-License-Identifier: Apache-2.0
// Every group function: size, rank, translate, compare, union, intersection, difference, incl, excl
// and the ranges. Groups are built of the world's ranks, whatever its size; expectations are
// computed from plain lists.
#include "../check.h"

static MPI_Group world;

static void expect(MPI_Group group, int n, const int* members, const char* what) {
  int all = -1, me = -5, at = MPI_UNDEFINED;
  OK(MPI_Group_size(group, &all));
  CHECK(all == n, "%s has %d members, expected %d", what, all, n);
  if (all != n) return;
  for (int i = 0; i < n; ++i) {
    int there = -1;
    OK(MPI_Group_translate_ranks(group, 1, &i, world, &there));
    CHECK(there == members[i], "%s: member %d is rank %d, expected %d", what, i, there, members[i]);
    if (members[i] == rank) at = i;
  }
  OK(MPI_Group_rank(group, &me));
  CHECK(me == at, "%s: I am %d, expected %d", what, me, at);
}

static MPI_Group of(int n, const int* members) {
  MPI_Group group;
  OK(MPI_Group_incl(world, n, members, &group));
  return group;
}

static int compare(MPI_Group a, MPI_Group b) {
  int result = -1;
  OK(MPI_Group_compare(a, b, &result));
  return result;
}

static void release(MPI_Group* group) {
  OK(MPI_Group_free(group));
  CHECK(*group == MPI_GROUP_NULL, "Group_free left the handle as it was");
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int *list = alloc(sizeof(int) * size), *reversed = alloc(sizeof(int) * size),
      *even = alloc(sizeof(int) * size), evens = 0;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int i = 0; i < size; ++i) {
    list[i] = i;
    reversed[i] = size - 1 - i;
    if (i % 2 == 0) even[evens++] = i;
  }
  expect(world, size, list, "the world's group");
  MPI_Group back = of(size, reversed), evenly = of(evens, even), group, empty;
  expect(back, size, reversed, "the reversed group");
  expect(evenly, evens, even, "the even group");
  EQ(compare(world, world), MPI_IDENT);
  EQ(compare(world, back), size == 1 ? MPI_IDENT : MPI_SIMILAR);
  EQ(compare(world, evenly), size == 1 ? MPI_IDENT : MPI_UNEQUAL);
  OK(MPI_Group_incl(world, 0, NULL, &empty));
  EQ(compare(empty, MPI_GROUP_EMPTY), MPI_IDENT);
  expect(MPI_GROUP_EMPTY, 0, NULL, "the empty group");
  // Union: the first group's members, then the second's others in their order.
  int *want = alloc(sizeof(int) * size), n = 0;
  for (int i = 0; i < evens; ++i) want[n++] = even[i];
  for (int i = 0; i < size; ++i) {
    if (reversed[i] % 2) want[n++] = reversed[i];
  }
  OK(MPI_Group_union(evenly, back, &group));
  expect(group, size, want, "union of even and reversed");
  release(&group);
  OK(MPI_Group_union(MPI_GROUP_EMPTY, back, &group));
  expect(group, size, reversed, "union of nobody and reversed");
  release(&group);
  // Intersection and difference: in the first group's order.
  n = 0;
  for (int i = 0; i < size; ++i) {
    if (reversed[i] % 2 == 0) want[n++] = reversed[i];
  }
  OK(MPI_Group_intersection(back, evenly, &group));
  expect(group, n, want, "intersection of reversed and even");
  release(&group);
  n = 0;
  for (int i = 0; i < size; ++i) {
    if (reversed[i] % 2) want[n++] = reversed[i];
  }
  OK(MPI_Group_difference(back, evenly, &group));
  expect(group, n, want, "difference of reversed and even");
  release(&group);
  OK(MPI_Group_difference(world, world, &group));
  EQ(compare(group, MPI_GROUP_EMPTY), MPI_IDENT);
  release(&group);
  OK(MPI_Group_excl(back, evens, even, &group));  // positions, not world ranks
  n = 0;
  for (int i = 0; i < size; ++i) {
    if (i % 2) want[n++] = reversed[i];
  }
  expect(group, n, want, "reversed without its even positions");
  release(&group);
  // Ranges: up by two, down by one.
  int ranges[2][3] = {{0, size - 1, 2}, {size - 1 - (size % 2 == 1), 0, -2}};
  if (size < 2) ranges[1][0] = 0, ranges[1][1] = 0;
  n = 0;
  for (int i = 0; i < size; i += 2) want[n++] = i;
  for (int i = ranges[1][0]; i > 0 && size >= 2; i -= 2) want[n++] = i;
  OK(MPI_Group_range_incl(world, size < 2 ? 1 : 2, ranges, &group));
  expect(group, n, want, "ranges up and down");
  release(&group);
  OK(MPI_Group_range_excl(back, 1, ranges, &group));
  n = 0;
  for (int i = 1; i < size; i += 2) want[n++] = reversed[i];
  expect(group, n, want, "reversed without a range of positions");
  release(&group);
  // Translation: to a group without the rank, and of MPI_PROC_NULL.
  int ranks[2] = {size - 1, MPI_PROC_NULL}, there[2] = {-7, -7};
  OK(MPI_Group_translate_ranks(world, 2, ranks, back, there));
  EQ(there[0], 0);
  EQ(there[1], MPI_PROC_NULL);
  OK(MPI_Group_translate_ranks(world, 1, ranks, MPI_GROUP_EMPTY, there));
  EQ(there[0], MPI_UNDEFINED);
  release(&back);
  release(&evenly);
  release(&empty);
  release(&world);
  free(list);
  free(reversed);
  free(even);
  free(want);
  return finish();
}
