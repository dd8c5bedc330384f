// SPDX-License-Identifier: Apache-2.0
// What a type was made of: envelopes and contents of every constructor, names, attributes, and a
// type freed in use.
#include "../check.h"

static void envelope_(int line, MPI_Datatype type, int combiner, int integers, int addresses,
                      int types) {
  int i = -1, a = -1, t = -1, c = -1;
  OK(MPI_Type_get_envelope(type, &i, &a, &t, &c));
  CHECK(i == integers && a == addresses && t == types && c == combiner,
        "line %d: envelope is %d integers, %d addresses, %d types, combiner %d; expected %d, %d, "
        "%d, %d",
        line, i, a, t, c, integers, addresses, types, combiner);
}
#define ENVELOPE(...) envelope_(__LINE__, __VA_ARGS__)

static void contents(void) {
  MPI_Datatype type, inner,
      types[4] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  int integers[16];
  MPI_Aint addresses[8];
  const int lengths[2] = {3, 1}, places[2] = {4, 0};
  const MPI_Aint bytes[2] = {100, 8};
  ENVELOPE(MPI_INT, MPI_COMBINER_NAMED, 0, 0, 0);
  OK(MPI_Type_contiguous(7, MPI_INT, &type));
  ENVELOPE(type, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
  OK(MPI_Type_get_contents(type, 1, 0, 1, integers, addresses, types));
  EQ(integers[0], 7);
  CHECK(types[0] == MPI_INT, "the inner type is not MPI_INT");
  OK(MPI_Type_vector(2, 3, 5, type, &inner));
  OK(MPI_Type_free(&type));
  ENVELOPE(inner, MPI_COMBINER_VECTOR, 3, 0, 1);
  OK(MPI_Type_get_contents(inner, 3, 0, 1, integers, addresses, types));
  EQ(integers[0], 2);
  EQ(integers[1], 3);
  EQ(integers[2], 5);
  ENVELOPE(types[0], MPI_COMBINER_CONTIGUOUS, 1, 0, 1);  // the freed type is still known inside
  OK(MPI_Type_free(&types[0]));
  OK(MPI_Type_free(&inner));
  OK(MPI_Type_create_hvector(2, 3, 50, MPI_INT, &type));
  ENVELOPE(type, MPI_COMBINER_HVECTOR, 2, 1, 1);
  OK(MPI_Type_get_contents(type, 2, 1, 1, integers, addresses, types));
  EQ(addresses[0], 50);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &type));
  ENVELOPE(type, MPI_COMBINER_INDEXED, 5, 0, 1);
  OK(MPI_Type_get_contents(type, 5, 0, 1, integers, addresses, types));
  const int want[5] = {2, 3, 1, 4, 0};
  for (int i = 0; i < 5; ++i) EQ(integers[i], want[i]);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type));
  ENVELOPE(type, MPI_COMBINER_HINDEXED, 3, 2, 1);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_create_indexed_block(2, 3, places, MPI_INT, &type));
  ENVELOPE(type, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 1);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_create_hindexed_block(2, 3, bytes, MPI_INT, &type));
  ENVELOPE(type, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1);
  OK(MPI_Type_free(&type));
  const MPI_Datatype two[2] = {MPI_CHAR, MPI_DOUBLE};
  OK(MPI_Type_create_struct(2, lengths, bytes, two, &type));
  ENVELOPE(type, MPI_COMBINER_STRUCT, 3, 2, 2);
  OK(MPI_Type_get_contents(type, 3, 2, 2, integers, addresses, types));
  EQ(integers[0], 2);
  EQ(addresses[1], 8);
  CHECK(types[1] == MPI_DOUBLE, "the second type is not MPI_DOUBLE");
  OK(MPI_Type_dup(type, &inner));
  ENVELOPE(inner, MPI_COMBINER_DUP, 0, 0, 1);
  OK(MPI_Type_free(&inner));
  OK(MPI_Type_create_resized(type, -4, 200, &inner));
  ENVELOPE(inner, MPI_COMBINER_RESIZED, 0, 2, 1);
  OK(MPI_Type_get_contents(inner, 0, 2, 1, integers, addresses, types));
  EQ(addresses[0], -4);
  EQ(addresses[1], 200);
  OK(MPI_Type_free(&types[0]));
  OK(MPI_Type_free(&inner));
  OK(MPI_Type_free(&type));
  const int whole[2] = {10, 20}, part[2] = {2, 3}, from[2] = {1, 2};
  OK(MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_C, MPI_INT, &type));
  ENVELOPE(type, MPI_COMBINER_SUBARRAY, 8, 0, 1);
  OK(MPI_Type_get_contents(type, 8, 0, 1, integers, addresses, types));
  EQ(integers[0], 2);
  EQ(integers[2], 20);
  EQ(integers[7], MPI_ORDER_C);
  OK(MPI_Type_free(&type));
}

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Datatype type;
  OK(MPI_Type_get_name(MPI_DOUBLE, name, &length));
  CHECK(strcmp(name, "MPI_DOUBLE") == 0 && length == 10, "MPI_DOUBLE is named '%s'", name);
  // Of two names of one type it has that of which the other is "a synonym" in the tables of MPI-5.0
  // section 3.2.2. (All others: tests/unit/datatype.)
  OK(MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length));
  CHECK(strcmp(name, "MPI_C_COMPLEX") == 0, "MPI_C_FLOAT_COMPLEX is named '%s'", name);
  OK(MPI_Type_get_name(MPI_LONG_LONG, name, &length));
  CHECK(strcmp(name, "MPI_LONG_LONG_INT") == 0, "MPI_LONG_LONG is named '%s'", name);
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0, "the name of MPI_DATATYPE_NULL is '%s'", name);
  OK(MPI_Type_get_name(type, name, &length));
  CHECK(length == 0, "a new type is named '%s'", name);
  OK(MPI_Type_set_name(type, "thread"));
  OK(MPI_Type_get_name(type, name, &length));
  CHECK(strcmp(name, "thread") == 0, "the name is '%s'", name);
  OK(MPI_Type_free(&type));
}

static void attributes(void) {
  MPI_Datatype type, copy;
  int key, flag = 0, here;
  void* value = NULL;
  OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_set_attr(type, key, &here));
  OK(MPI_Type_dup(type, &copy));
  OK(MPI_Type_get_attr(copy, key, &value, &flag));
  CHECK(flag && value == &here, "the attribute was not copied");
  OK(MPI_Type_delete_attr(copy, key));
  OK(MPI_Type_get_attr(copy, key, &value, &flag));
  EQ(flag, 0);
  OK(MPI_Type_free_keyval(&key));
  OK(MPI_Type_free(&copy));
  OK(MPI_Type_free(&type));
}

static void freed_in_use(void) {
  enum { n = 50000 };
  int *out = alloc(sizeof(int) * 2 * n), *in = alloc(sizeof(int) * 2 * n), wrong = 0;
  MPI_Datatype type;
  MPI_Request request[2];
  for (int i = 0; i < 2 * n; ++i) out[i] = rank + i, in[i] = -1;
  OK(MPI_Type_vector(n, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Irecv(in, 1, type, left_of(rank), 1, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Isend(out, 1, type, right_of(rank), 1, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Type_free(&type));
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * n; ++i)
    wrong += in[i] != (i % 2 || i > 2 * n - 2 ? -1 : left_of(rank) + i);
  EQ(wrong, 0);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  contents();
  names();
  attributes();
  freed_in_use();
  MPI_Datatype found;
  OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &found));
  int bytes = 0;
  OK(MPI_Type_size(found, &bytes));
  EQ(bytes, 8);
  return finish();
}
