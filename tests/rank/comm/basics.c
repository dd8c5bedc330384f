// SPDX-License-Identifier: Apache-2.0
// Dup, split, create and compare: who is in, in which order, undefined colours, names, messages
// stay inside.
#include "../check.h"

// Every member sends its world rank to the right inside comm; expected[i] is the world rank of
// member i.
static void ring(MPI_Comm comm, int members, const int* expected) {
  int me, all, got = -1;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &all));
  EQ(all, members);
  EQ(expected[me], rank);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (me + 1) % all, 1, &got, 1, MPI_INT, (me + all - 1) % all, 1,
                  comm, MPI_STATUS_IGNORE));
  EQ(got, expected[(me + all - 1) % all]);
  int sum = 0, want = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < all; ++i) want += expected[i];
  EQ(sum, want);
}

static int compare(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  OK(MPI_Comm_compare(a, b, &result));
  return result;
}

static void split(void) {
  int *expected = alloc(sizeof(int) * size), members = 0;
  MPI_Comm comm;
  for (int who = 0; who < size; ++who) expected[who] = size - 1 - who;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 3, -rank, &comm));  // reversed
  ring(comm, size, expected);
  EQ(compare(comm, MPI_COMM_WORLD), size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
  OK(MPI_Comm_free(&comm));
  for (int who = rank % 3; who < size; who += 3) expected[members++] = who;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 3, 7, &comm));  // equal keys: order of old ranks
  ring(comm, members, expected);
  OK(MPI_Comm_free(&comm));
  CHECK(comm == MPI_COMM_NULL, "Comm_free left the handle as it was");
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 0, 0, &comm));
  CHECK((comm == MPI_COMM_NULL) == (rank % 2), "colour %s gave %s", rank % 2 ? "undefined" : "0",
        comm == MPI_COMM_NULL ? "null" : "a communicator");
  if (comm != MPI_COMM_NULL) {
    members = 0;
    for (int who = 0; who < size; who += 2) expected[members++] = who;
    ring(comm, members, expected);
    EQ(compare(comm, MPI_COMM_WORLD), size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    OK(MPI_Comm_free(&comm));
  }
  free(expected);
}

static void split_type(void) {
  MPI_Comm comm;
  int members = 0, here = 0, *expected = alloc(sizeof(int) * size);
  for (int who = 0; who < size; ++who)
    if (!is_apart(who)) expected[here++] = who;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
  OK(MPI_Comm_size(comm, &members));
  EQ(members, here);
  ring(comm, here, expected);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
  CHECK(comm == MPI_COMM_NULL, "split_type undefined gave a communicator");
  free(expected);
}

static void duplicates(void) {
  enum { many = 20 };
  MPI_Comm comm[many], idup;
  MPI_Request request[many], one;
  int in[many], *expected = alloc(sizeof(int) * size);
  for (int who = 0; who < size; ++who) expected[who] = who;
  for (int i = 0; i < many; ++i) OK(MPI_Comm_dup(i ? comm[i - 1] : MPI_COMM_WORLD, &comm[i]));
  EQ(compare(comm[0], MPI_COMM_WORLD), MPI_CONGRUENT);
  EQ(compare(comm[3], comm[3]), MPI_IDENT);
  EQ(compare(MPI_COMM_WORLD, MPI_COMM_WORLD), MPI_IDENT);
  // Same source, same tag, one message per communicator, sent in the other order.
  for (int i = 0; i < many; ++i)
    OK(MPI_Irecv(&in[i], 1, MPI_INT, left_of(rank), 9, comm[i], &request[i]));
  for (int i = many - 1; i >= 0; --i) {
    const int value = rank * 100 + i;
    OK(MPI_Send(&value, 1, MPI_INT, right_of(rank), 9, comm[i]));
  }
  OK(MPI_Waitall(many, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < many; ++i) EQ(in[i], left_of(rank) * 100 + i);
  for (int i = 0; i < many; ++i) OK(MPI_Comm_free(&comm[i]));
  OK(MPI_Comm_idup(MPI_COMM_WORLD, &idup, &one));
  OK(MPI_Wait(&one, MPI_STATUS_IGNORE));
  ring(idup, size, expected);
  OK(MPI_Comm_free(&idup));
  OK(MPI_Comm_dup_with_info(MPI_COMM_SELF, MPI_INFO_NULL, &idup));
  int self = 7;
  OK(MPI_Comm_rank(idup, &self));
  EQ(self, 0);
  OK(MPI_Comm_free(&idup));
  free(expected);
}

// A communicator freed while a message is under way still delivers it.
static void freed_in_use(void) {
  MPI_Comm comm;
  MPI_Request request[2];
  int in = -1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Irecv(&in, 1, MPI_INT, left_of(rank), 2, comm, &request[0]));
  OK(MPI_Isend(&rank, 1, MPI_INT, right_of(rank), 2, comm, &request[1]));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  EQ(in, left_of(rank));
}

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Comm comm;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14, "the world is named '%s'", name);
  OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && length == 13, "the null handle is named '%s'", name);
  OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0, "the null datatype is named '%s'", name);
  OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
  CHECK(strcmp(name, "MPI_WIN_NULL") == 0, "the null window is named '%s'", name);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(strcmp(name, "MPI_COMM_SELF") == 0, "self is named '%s'", name);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0, "the name of MPI_COMM_NULL is '%s'", name);
  OK(MPI_Comm_get_name(comm, name, &length));
  CHECK(length == 0 && name[0] == 0, "a duplicate is named '%s', expected nothing", name);
  OK(MPI_Comm_set_name(comm, "warp and weft"));
  OK(MPI_Comm_get_name(comm, name, &length));
  CHECK(strcmp(name, "warp and weft") == 0 && length == 13, "the name is '%s'", name);
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int inter = 1, value = -1;
  OK(MPI_Comm_rank(MPI_COMM_SELF, &value));
  EQ(value, 0);
  OK(MPI_Comm_size(MPI_COMM_SELF, &value));
  EQ(value, 1);
  EQ(compare(MPI_COMM_SELF, MPI_COMM_WORLD), size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
  OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &inter));
  EQ(inter, 0);
  split();
  split_type();
  duplicates();
  freed_in_use();
  names();
  return finish();
}
