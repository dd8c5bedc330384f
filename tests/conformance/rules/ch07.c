// SPDX-License-Identifier: Apache-2.0
// Chapter 7, groups, communicators, intercommunicators, caching, names, info.
#include "rules.h"

static int compared(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  OK(MPI_Comm_compare(a, b, &result));
  return result;
}
static int groups_compared(MPI_Group a, MPI_Group b) {
  int result = -1;
  OK(MPI_Group_compare(a, b, &result));
  return result;
}
static MPI_Group incl(MPI_Group of, int n, const int* ranks) {
  MPI_Group group;
  OK(MPI_Group_incl(of, n, ranks, &group));
  return group;
}
// The members of a group, as ranks of another.
static void members_(int line, MPI_Group group, MPI_Group base, int n, const int* want) {
  int many = -1;
  OK(MPI_Group_size(group, &many));
  CHECK(many == n, "line %d: %d members, expected %d", line, many, n);
  for (int i = 0; i < n && many == n; ++i) {
    int at = -1;
    OK(MPI_Group_translate_ranks(group, 1, &i, base, &at));
    CHECK(at == want[i], "line %d: member %d is rank %d, expected %d", line, i, at, want[i]);
  }
}
#define MEMBERS(group, ...)                                                           \
  members_(__LINE__, (group), all, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
           (int[]){__VA_ARGS__})

// --- 7.3: groups
// -----------------------------------------------------------------------------------
static void set_operations(void) {
  MPI_Group all, a, b, result;
  if (size < 4) return;
  OK(MPI_Comm_group(comm, &all));
  a = incl(all, 3, (int[]){3, 0, 1});
  b = incl(all, 3, (int[]){2, 1, 3});
  OK(MPI_Group_union(a, b, &result));
  MEMBERS(result, 3, 0, 1, 2);  // the first group, then what is new of the second
  OK(MPI_Group_free(&result));
  OK(MPI_Group_union(b, a, &result));
  MEMBERS(result, 2, 1, 3, 0);
  OK(MPI_Group_free(&result));
  OK(MPI_Group_intersection(a, b, &result));
  MEMBERS(result, 3, 1);  // in the order of the first
  OK(MPI_Group_free(&result));
  OK(MPI_Group_difference(a, b, &result));
  MEMBERS(result, 0);
  OK(MPI_Group_free(&result));
  OK(MPI_Group_free(&a));
  OK(MPI_Group_free(&b));
  OK(MPI_Group_free(&all));
}

static void empty_groups(void) {
  MPI_Group all, result;
  int n = -1, me = -1;
  OK(MPI_Comm_group(comm, &all));
  OK(MPI_Group_difference(all, all, &result));
  EQ(groups_compared(result, MPI_GROUP_EMPTY), MPI_IDENT);
  OK(MPI_Group_size(MPI_GROUP_EMPTY, &n));
  EQ(n, 0);
  OK(MPI_Group_rank(MPI_GROUP_EMPTY, &me));
  EQ(me, MPI_UNDEFINED);
  if (result != MPI_GROUP_EMPTY) OK(MPI_Group_free(&result));
  OK(MPI_Group_union(MPI_GROUP_EMPTY, all, &result));
  EQ(groups_compared(result, all), MPI_IDENT);
  OK(MPI_Group_free(&result));
  OK(MPI_Group_free(&all));
}

static void group_compare(void) {
  MPI_Group all, back, part;
  int* list = alloc(sizeof(int) * size);
  for (int i = 0; i < size; ++i) list[i] = size - 1 - i;
  OK(MPI_Comm_group(comm, &all));
  back = incl(all, size, list);
  part = incl(all, 1, (int[]){0});
  EQ(groups_compared(all, all), MPI_IDENT);
  EQ(groups_compared(all, back), size > 1 ? MPI_SIMILAR : MPI_IDENT);
  EQ(groups_compared(all, part), size > 1 ? MPI_UNEQUAL : MPI_IDENT);
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&back));
  OK(MPI_Group_free(&part));
  free(list);
}

static void ranges(void) {
  MPI_Group all, group;
  if (size < 4) return;
  OK(MPI_Comm_group(comm, &all));
  int down[2][3] = {{3, 1, -2}, {0, 0, 1}};
  OK(MPI_Group_range_incl(all, 2, down, &group));
  MEMBERS(group, 3, 1, 0);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_range_excl(all, 2, down, &group));
  MEMBERS(group, 2);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_excl(all, 2, (int[]){2, 0}, &group));
  MEMBERS(group, 1, 3);  // the order of the old group, not of the list
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&all));
}

static void translate(void) {
  MPI_Group all, part;
  int in[2] = {size - 1, MPI_PROC_NULL}, out[2] = {-5, -5};
  OK(MPI_Comm_group(comm, &all));
  part = incl(all, 1, (int[]){0});
  OK(MPI_Group_translate_ranks(all, 2, in, part, out));
  EQ(out[0], size > 1 ? MPI_UNDEFINED : 0), EQ(out[1], MPI_PROC_NULL);
  OK(MPI_Group_free(&part));
  OK(MPI_Group_free(&all));
}

// --- 7.4: communicators
// ----------------------------------------------------------------------------
static void comm_compare(void) {
  MPI_Comm copy, reversed;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_split(comm, 0, -rank, &reversed));
  EQ(compared(comm, comm), MPI_IDENT);
  EQ(compared(comm, copy), MPI_CONGRUENT);
  EQ(compared(comm, reversed), size > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
  EQ(compared(comm, MPI_COMM_SELF), size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&reversed));
}

static void split_undefined(void) {
  MPI_Comm part;
  int n = -1;
  OK(MPI_Comm_split(comm, rank == 0 ? MPI_UNDEFINED : 3, 0, &part));
  if (rank == 0) {
    CHECK(part == MPI_COMM_NULL, "MPI_UNDEFINED gave a communicator");
    return;
  }
  OK(MPI_Comm_size(part, &n));
  EQ(n, size - 1);
  OK(MPI_Comm_free(&part));
}

static void split_ties(void) {
  MPI_Comm part;
  int me = -1;
  OK(MPI_Comm_split(comm, 0, 5, &part));
  OK(MPI_Comm_rank(part, &me));
  EQ(me, rank);
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_split(comm, 0, rank == 0 ? 9 : 5, &part));
  OK(MPI_Comm_rank(part, &me));
  EQ(me, rank == 0 ? size - 1 : rank - 1);
  OK(MPI_Comm_free(&part));
}

static void create_null(void) {
  MPI_Group all, part;
  MPI_Comm made;
  OK(MPI_Comm_group(comm, &all));
  part = incl(all, 1, (int[]){size - 1});
  OK(MPI_Comm_create(comm, part, &made));
  CHECK((made == MPI_COMM_NULL) == (rank != size - 1),
        "a rank outside the group got a communicator, or one inside none");
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  OK(MPI_Group_free(&part));
  OK(MPI_Group_free(&all));
}

static void create_group_tags(void) {
  MPI_Group all, part;
  MPI_Comm made = MPI_COMM_NULL;
  int me = -1;
  if (rank == 0 && size > 1) return;  // collective over the group only: rank 0 does not take part
  OK(MPI_Comm_group(comm, &all));
  if (size > 1)
    OK(MPI_Group_excl(all, 1, (int[]){0}, &part));
  else
    part = incl(all, 1, (int[]){0});
  for (int tag = 0; tag < 3; ++tag) {
    OK(MPI_Comm_create_group(comm, part, tag, &made));
    OK(MPI_Comm_rank(made, &me));
    EQ(me, size > 1 ? rank - 1 : 0);
    OK(MPI_Comm_free(&made));
  }
  OK(MPI_Group_free(&part));
  OK(MPI_Group_free(&all));
}

static void split_shared(void) {
  MPI_Comm node;
  int n = -1;
  OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  OK(MPI_Comm_size(node, &n));
  CHECK(n >= 1 && n <= size, "the shared part has %d of %d ranks", n, size);
  OK(MPI_Comm_free(&node));
  OK(MPI_Comm_split_type(comm, MPI_UNDEFINED, 0, MPI_INFO_NULL, &node));
  CHECK(node == MPI_COMM_NULL, "MPI_UNDEFINED gave a communicator");
}

static void free_pending(void) {
  MPI_Comm copy;
  MPI_Request request[2];
  int in = -1;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, copy, &request[0]));
  OK(MPI_Isend(&rank, 1, MPI_INT, right, 0, copy, &request[1]));
  OK(MPI_Comm_free(&copy));
  CHECK(copy == MPI_COMM_NULL, "Comm_free left the handle as it was");
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  EQ(in, left);
}

static void idup_waits(void) {
  MPI_Comm copy = MPI_COMM_NULL, other = MPI_COMM_NULL;
  MPI_Request request[2];
  int sum = -1;
  OK(MPI_Comm_idup(comm, &copy, &request[0]));
  OK(MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &other, &request[1]));
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));  // the old one works meanwhile
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  EQ(sum, size * (size - 1) / 2);
  EQ(compared(comm, copy), MPI_CONGRUENT);
  EQ(compared(copy, other), MPI_CONGRUENT);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&other));
}

static void info_kept(void) {
  MPI_Info info, used;
  MPI_Comm made, copy;
  char value[40] = "?";
  int length = sizeof value, flag = -1;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Comm_dup_with_info(comm, info, &made));
  OK(MPI_Comm_get_info(made, &used));
  OK(MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag));
  CHECK(flag == 1 && strcmp(value, "true") == 0, "the assertion is '%s' (flag %d), expected 'true'",
        value, flag);
  OK(MPI_Info_free(&used));
  OK(MPI_Comm_dup(made, &copy));  // copies hints, since MPI-4.0 not assertions
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
  OK(MPI_Comm_set_info(made, info));
  OK(MPI_Comm_get_info(made, &used));
  length = sizeof value;
  OK(MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag));
  CHECK(flag == 0 || strcmp(value, "false") == 0, "the assertion is '%s', expected 'false'", value);
  OK(MPI_Info_free(&used));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&made));
}

static void info_unknown(void) {
  MPI_Info info, used;
  MPI_Comm made;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no such hint of anybody", "whatever"));
  OK(MPI_Comm_dup_with_info(comm, info, &made));
  OK(MPI_Comm_get_info(made, &used));
  OK(MPI_Info_free(&used));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&made));
}

// --- 7.6: intercommunicators
// -----------------------------------------------------------------------
static MPI_Comm parts(MPI_Comm* inter, int tag) {  // even and odd ranks
  MPI_Comm half;
  OK(MPI_Comm_split(comm, rank % 2, rank, &half));
  OK(MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, tag, inter));
  return half;
}

static void merge_order(void) {
  MPI_Comm inter, half, all;
  int me = -1, evens = (size + 1) / 2;
  if (size < 2) return;
  half = parts(&inter, 1);
  for (int odd_high = 0; odd_high < 2; ++odd_high) {
    OK(MPI_Intercomm_merge(inter, rank % 2 == odd_high ? 1 : 0, &all));
    OK(MPI_Comm_rank(all, &me));
    // high: the odd ones if 1 is high when odd; the low group comes first
    const int low_is_even = odd_high == 1;
    const int even = rank % 2 == 0;
    EQ(me, rank / 2 + (even == low_is_even ? 0 : low_is_even ? evens : size - evens));
    OK(MPI_Comm_free(&all));
  }
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

static void inter_accessors(void) {
  MPI_Comm inter, half, copy, none;
  MPI_Group mine, theirs;
  int flag = -1, n = -1, both = -1;
  OK(MPI_Comm_test_inter(comm, &flag));
  EQ(flag, 0);
  if (size < 2) return;
  half = parts(&inter, 2);
  OK(MPI_Comm_test_inter(inter, &flag));
  EQ(flag, 1);
  OK(MPI_Comm_size(inter, &n));
  OK(MPI_Comm_remote_size(inter, &both));
  EQ(n, rank % 2 ? size / 2 : (size + 1) / 2), EQ(n + both, size);
  OK(MPI_Comm_group(inter, &mine));
  OK(MPI_Comm_remote_group(inter, &theirs));
  EQ(groups_compared(mine, theirs), MPI_UNEQUAL);
  OK(MPI_Comm_dup(inter, &copy));
  EQ(compared(inter, copy), MPI_CONGRUENT);
  FAILS(MPI_Intercomm_merge(comm, 0, &none), MPI_ERR_COMM);
  OK(MPI_Group_free(&mine));
  OK(MPI_Group_free(&theirs));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

static void inter_split(void) {
  MPI_Comm inter, half, part;
  int n = -1, both = -1;
  if (size < 4) return;
  half = parts(&inter, 3);
  OK(MPI_Comm_split(inter, rank / 2 % 2, 0, &part));  // colors match across the groups
  OK(MPI_Comm_size(part, &n));
  OK(MPI_Comm_remote_size(part, &both));
  EQ(n, 1), EQ(both, 1);
  OK(MPI_Comm_free(&part));
  // A color that only one side has gives nobody a communicator.
  OK(MPI_Comm_split(inter, rank % 2, 0, &part));
  CHECK(part == MPI_COMM_NULL, "a color without the other side gave a communicator");
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

static void from_groups(void) {
  MPI_Group all, part, others;
  MPI_Comm made, inter;
  int n = -1, both = -1, in = -1;
  int evens[1][3] = {{0, size - 1 - (size - 1) % 2, 2}};
  OK(MPI_Comm_group(comm, &all));
  OK(MPI_Comm_create_from_group(all, "rules.from-groups", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  EQ(compared(comm, made), MPI_CONGRUENT);
  OK(MPI_Comm_free(&made));
  if (size > 1) {
    MPI_Group even, odd;
    OK(MPI_Group_range_incl(all, 1, evens, &even));
    OK(MPI_Group_range_excl(all, 1, evens, &odd));
    part = rank % 2 ? odd : even, others = rank % 2 ? even : odd;
    OK(MPI_Intercomm_create_from_groups(part, 0, others, 0, "rules.two-groups", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &inter));
    OK(MPI_Comm_size(inter, &n));
    OK(MPI_Comm_remote_size(inter, &both));
    EQ(n + both, size), EQ(n, (size + 1 - rank % 2) / 2);
    if (rank / 2 < both) {
      OK(MPI_Sendrecv(&rank, 1, MPI_INT, rank / 2, 0, &in, 1, MPI_INT, rank / 2, 0, inter,
                      MPI_STATUS_IGNORE));
      EQ(in, rank ^ 1);
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Group_free(&even));
    OK(MPI_Group_free(&odd));
  }
  OK(MPI_Group_free(&all));
}

// --- 7.7: caching
// ----------------------------------------------------------------------------------
static int calls, order_of[8], fail_on;
static int copy_note(MPI_Comm old, int key, void* extra, void* in, void* out, int* flag) {
  (void)old, (void)key;
  order_of[calls++ % 8] = *(int*)extra;
  *(void**)out = in;
  *flag = 1;
  return *(int*)extra == fail_on ? MPI_ERR_OTHER : MPI_SUCCESS;
}
static int delete_note(MPI_Comm old, int key, void* value, void* extra) {
  (void)old, (void)key, (void)value;
  order_of[calls++ % 8] = *(int*)extra;
  return *(int*)extra == fail_on ? MPI_ERR_OTHER : MPI_SUCCESS;
}
static int numbers[3] = {0, 1, 2}, keys[3];
static void make_keys(void) {
  fail_on = -1;
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Comm_create_keyval(copy_note, delete_note, &keys[i], &numbers[i]));
  }
}
static void free_keys(void) {
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_free_keyval(&keys[i]));
}
static int get(MPI_Comm of, int key) {  // the number of the attribute, or -1
  int *value = NULL, flag = 0;
  OK(MPI_Comm_get_attr(of, key, &value, &flag));
  return flag ? *value : -1;
}

static void attributes_copied(void) {
  MPI_Comm copy, part;
  make_keys();
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_set_attr(comm, keys[i], &numbers[i]));
  calls = 0;
  OK(MPI_Comm_dup(comm, &copy));
  EQ(calls, 3);
  for (int i = 0; i < 3; ++i) EQ(get(copy, keys[i]), i);
  calls = 0;
  OK(MPI_Comm_split(comm, 0, 0, &part));  // dup only
  EQ(calls, 0), EQ(get(part, keys[0]), -1);
  OK(MPI_Comm_free(&part));
  calls = 0;
  OK(MPI_Comm_free(&copy));
  EQ(calls, 3);
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_delete_attr(comm, keys[i]));
  free_keys();
}

static void copy_fails(void) {
  MPI_Comm copy = MPI_COMM_NULL;
  make_keys();
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_set_attr(comm, keys[i], &numbers[i]));
  fail_on = 2;
  FAILS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
  fail_on = -1;
  OK(MPI_Comm_dup(comm, &copy));  // nothing is broken by it
  OK(MPI_Comm_free(&copy));
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_delete_attr(comm, keys[i]));
  free_keys();
}

static void delete_fails(void) {
  MPI_Comm copy;
  make_keys();
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_attr(copy, keys[1], &numbers[1]));
  fail_on = 1;
  FAILS(MPI_Comm_delete_attr(copy, keys[1]), MPI_ERR_OTHER);
  FAILS(MPI_Comm_set_attr(copy, keys[1], &numbers[2]), MPI_ERR_OTHER);
  FAILS(MPI_Comm_free(&copy), MPI_ERR_OTHER);
  CHECK(copy != MPI_COMM_NULL, "a failed Comm_free took the handle");
  fail_on = -1;
  OK(MPI_Comm_free(&copy));
  free_keys();
}

static void set_replaces(void) {
  make_keys();
  OK(MPI_Comm_set_attr(comm, keys[0], &numbers[1]));
  calls = 0;
  OK(MPI_Comm_set_attr(comm, keys[0], &numbers[2]));
  EQ(calls, 1), EQ(get(comm, keys[0]), 2);
  OK(MPI_Comm_delete_attr(comm, keys[0]));
  EQ(calls, 2);
  FAILS(MPI_Comm_delete_attr(comm, MPI_KEYVAL_INVALID), MPI_ERR_KEYVAL);
  free_keys();
}

static void keyval_freed_in_use(void) {
  MPI_Comm copy;
  int mine;
  make_keys();
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_set_attr(copy, keys[2], &numbers[2]));
  mine = keys[2];
  free_keys();
  EQ(keys[2], MPI_KEYVAL_INVALID);
  EQ(get(copy, mine), 2);  // lives as long as an attribute uses it
  calls = 0;
  OK(MPI_Comm_free(&copy));
  EQ(calls, 1), EQ(order_of[0], 2);
}

static void predefined_attributes(void) {
  const int all[] = {MPI_TAG_UB,        MPI_IO,           MPI_WTIME_IS_GLOBAL,
                     MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE, MPI_APPNUM};
  int *value = NULL, flag = -1;
  for (int i = 0; i < 6; ++i) {
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, all[i], &value, &flag));
    CHECK(flag == 1 && value != NULL, "predefined attribute %d is not there", i);
    if (!flag) continue;
    if (all[i] == MPI_TAG_UB)
      CHECK(*value >= 32767, "MPI_TAG_UB is %d, expected at least 32767", *value);
    if (all[i] == MPI_WTIME_IS_GLOBAL)
      CHECK(*value == 0 || *value == 1, "MPI_WTIME_IS_GLOBAL is %d", *value);
    if (all[i] == MPI_UNIVERSE_SIZE)
      CHECK(*value >= size, "MPI_UNIVERSE_SIZE is %d, the world has %d", *value, size);
    if (all[i] == MPI_LASTUSEDCODE)
      CHECK(*value >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE is %d", *value);
    if (all[i] == MPI_APPNUM) EQ(*value, 0);
  }
  FAILS(MPI_Comm_set_attr(comm, MPI_TAG_UB, &flag), MPI_ERR_KEYVAL);
  FAILS(MPI_Comm_delete_attr(comm, MPI_TAG_UB), MPI_ERR_KEYVAL);
}

static void tag_ub_works(void) {
  int *most = NULL, flag = 0, in = -1;
  MPI_Status status;
  OK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &flag));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, *most, &in, 1, MPI_INT, left, *most, comm, &status));
  STATUS(&status, left, *most, sizeof in);
  EQ(in, left);
}

// --- 7.8: names
// ------------------------------------------------------------------------------------
static void names(void) {
  char name[MPI_MAX_OBJECT_NAME], longest[MPI_MAX_OBJECT_NAME + 20];
  int length = -1;
  MPI_Comm copy;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  TEXT(name, "MPI_COMM_WORLD");
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  TEXT(name, "MPI_COMM_SELF");
  OK(MPI_Comm_set_name(comm, "a rule's"));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_get_name(copy, name, &length));
  EQ(length, 0);
  TEXT(name, "");
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  OK(MPI_Comm_set_name(copy, longest));
  OK(MPI_Comm_get_name(copy, name, &length));
  EQ(length, MPI_MAX_OBJECT_NAME - 1), EQ(strlen(name), MPI_MAX_OBJECT_NAME - 1);
  OK(MPI_Comm_free(&copy));
}

static const Rule table[] = {
    {"7.3.2-set-operations", set_operations,
     "union: the first group, then the rest of the second; intersection and difference in the "
     "order of the first"},
    {"7.3.2-empty", empty_groups,
     "an empty result is MPI_GROUP_EMPTY's equal; its rank is MPI_UNDEFINED"},
    {"7.3.1-compare", group_compare,
     "same order: MPI_IDENT; same members: MPI_SIMILAR; else MPI_UNEQUAL"},
    {"7.3.2-ranges", ranges, "ranges may run down; excl keeps the old group's order"},
    {"7.3.1-translate", translate,
     "a rank without counterpart is MPI_UNDEFINED; MPI_PROC_NULL stays itself"},
    {"7.4.1-compare", comm_compare,
     "IDENT only for itself; CONGRUENT, SIMILAR, UNEQUAL as the groups are"},
    {"7.4.2-split-undefined", split_undefined, "color MPI_UNDEFINED gives MPI_COMM_NULL"},
    {"7.4.2-split-ties", split_ties, "ranks of equal key keep their old order"},
    {"7.4.2-create-null", create_null,
     "Comm_create gives MPI_COMM_NULL to who is not in the group"},
    {"7.4.2-create-group", create_group_tags,
     "Comm_create_group is collective over the group only"},
    {"7.4.2-split-type", split_shared, "split_type MPI_UNDEFINED gives MPI_COMM_NULL"},
    {"7.4.3-free-pending", free_pending,
     "communication under way in a freed communicator completes"},
    {"7.4.2-idup", idup_waits,
     "Comm_idup does not wait; the copy is there when its request completes"},
    {"7.4.4-info-kept", info_kept,
     "an assertion that was set is returned by Comm_get_info, and replaced by Comm_set_info"},
    {"7.4.4-info-unknown", info_unknown, "a hint that the library does not know is not an error"},
    {"7.6.2-merge-order", merge_order,
     "of a merge the group that says low comes first, each in its order"},
    {"7.6.1-inter-accessors", inter_accessors,
     "size, rank and group of an intercommunicator are the local group's"},
    {"7.4.2-inter-split", inter_split,
     "colors of an intercommunicator match across its groups; without match none"},
    {"7.6.2-from-groups", from_groups, "communicators can be made of groups alone"},
    {"7.7.2-dup-copies", attributes_copied,
     "Comm_dup calls each copy callback once; split copies nothing; free deletes"},
    {"7.7.2-copy-fails", copy_fails, "a copy callback that fails makes Comm_dup fail"},
    {"7.7.2-delete-fails", delete_fails,
     "a delete callback that fails makes delete, set and free fail"},
    {"7.7.2-set-replaces", set_replaces, "setting an attribute again deletes the old value first"},
    {"7.7.2-keyval-freed-in-use", keyval_freed_in_use,
     "a freed keyval works until its last attribute is gone"},
    {"9.1.2-predefined", predefined_attributes,
     "MPI_COMM_WORLD has the predefined attributes, and they cannot be changed"},
    {"9.1.2-tag-ub", tag_ub_works, "MPI_TAG_UB itself is a valid tag, in every communicator"},
    {"7.8-names", names, "predefined communicators have names, copies none; longer ones are cut"},
};
RULES(table)
