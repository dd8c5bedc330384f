// SPDX-License-Identifier: Apache-2.0
// Chapter 5, datatypes: constructors, bounds, lifetimes, decoding, packing.
#include <stddef.h>

#include "rules.h"

static void free_type(MPI_Datatype* type) {
  OK(MPI_Type_free(type));
  CHECK(*type == MPI_DATATYPE_NULL, "Type_free left the handle as it was");
}

// The packed form: where the bytes of a type lie, in order.
static void packed_(int line, MPI_Datatype type, int count, const int* want, int n) {
  int from[64], to[64], at = 0;
  for (int i = 0; i < 64; ++i) from[i] = i, to[i] = -1;
  OK(MPI_Type_commit(&type));
  OK(MPI_Pack(from, count, type, to, sizeof to, &at, comm));
  CHECK(at == n * (int)sizeof(int), "line %d: %d bytes packed, expected %d ints", line, at, n);
  for (int i = 0; i < n; ++i)
    CHECK(to[i] == want[i], "line %d: item %d is %d, expected %d", line, i, to[i], want[i]);
}
#define PACKED(type, count, ...)                           \
  packed_(__LINE__, (type), (count), (int[]){__VA_ARGS__}, \
          (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)))

static void bounds_(int line, MPI_Datatype type, MPI_Aint size_of, MPI_Aint low, MPI_Aint extent) {
  MPI_Aint got_low = -1, got_extent = -1;
  int got_size = -1;
  OK(MPI_Type_size(type, &got_size));
  OK(MPI_Type_get_extent(type, &got_low, &got_extent));
  CHECK(got_size == size_of && got_low == low && got_extent == extent,
        "line %d: size %d, bounds %ld + %ld; expected size %ld, bounds %ld + %ld", line, got_size,
        (long)got_low, (long)got_extent, (long)size_of, (long)low, (long)extent);
}
#define BOUNDS(...) bounds_(__LINE__, __VA_ARGS__)

// --- 5.1.2 .. 5.1.4: constructors
// ------------------------------------------------------------------
static void vector_negative(void) {
  MPI_Datatype type, at_end;
  const int one = 1, place = 4;
  OK(MPI_Type_vector(3, 1, -2, MPI_INT, &type));
  BOUNDS(type, 12, -16, 20);
  OK(MPI_Type_create_hindexed(1, &one, &(MPI_Aint){place * (MPI_Aint)sizeof(int)}, type, &at_end));
  PACKED(at_end, 1, 4, 2, 0);
  free_type(&type), free_type(&at_end);
}

static void indexed_order(void) {
  MPI_Datatype type;
  OK(MPI_Type_indexed(3, (int[]){1, 2, 1}, (int[]){5, 0, 3}, MPI_INT, &type));
  PACKED(type, 1, 5, 0, 1, 3);  // as listed, not as they lie
  free_type(&type);
}

static void empty_blocks(void) {
  MPI_Datatype type;
  OK(MPI_Type_indexed(3, (int[]){0, 2, 0}, (int[]){-90, 3, 70}, MPI_INT, &type));
  BOUNDS(type, 8, 12, 8);
  free_type(&type);
  OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &type));
  BOUNDS(type, 0, 0, 0);
  free_type(&type);
}

static void struct_padding(void) {
  struct pair {
    double a;
    char b;
  };
  MPI_Datatype type;
  OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, offsetof(struct pair, b)},
                            (MPI_Datatype[]){MPI_DOUBLE, MPI_CHAR}, &type));
  BOUNDS(type, 9, 0, sizeof(struct pair));
  free_type(&type);
}

static void subarray_orders(void) {
  MPI_Datatype type;
  const int whole[2] = {3, 4}, part[2] = {2, 2}, from[2] = {1, 1};
  OK(MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_C, MPI_INT, &type));
  BOUNDS(type, 16, 0, 48);
  PACKED(type, 1, 5, 6, 9, 10);
  free_type(&type);
  OK(MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_FORTRAN, MPI_INT, &type));
  BOUNDS(type, 16, 0, 48);
  PACKED(type, 2, 4, 5, 7, 8, 16, 17, 19, 20);
  free_type(&type);
}

static void darray_covers(void) {
  const int sizes[2] = {5, 6}, grid[2] = {2, 2}, args[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  const int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  for (int order = 0; order < 2; ++order) {
    int seen[30] = {0}, total = 0;
    for (int who = 0; who < 4; ++who) {
      MPI_Datatype type;
      int n = 0, at = 0, from[30], to[30];
      OK(MPI_Type_create_darray(4, who, 2, sizes, kinds, args, grid,
                                order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &type));
      OK(MPI_Type_size(type, &n));
      BOUNDS(type, n, 0, sizeof from);
      OK(MPI_Type_commit(&type));
      for (int i = 0; i < 30; ++i) from[i] = i;
      OK(MPI_Pack(from, 1, type, to, sizeof to, &at, comm));
      for (int i = 0; i < n / (int)sizeof(int); ++i) ++seen[to[i]], ++total;
      if (who == 1) EQ(to[0], order ? 10 : 2);  // the grid is row-major in both orders
      free_type(&type);
    }
    EQ(total, 30);
    for (int i = 0; i < 30; ++i) EQ(seen[i], 1);
  }
}

static void large_counts(void) {
  MPI_Datatype type, whole;
  const MPI_Count many = (MPI_Count)3 << 31;
  MPI_Count size_of = -1, low = -1, extent = -1;
  MPI_Status status;
  int small = 0;
  MPI_Aint low_a, extent_a;
  OK(MPI_Type_contiguous_c(many, MPI_INT, &type));
  OK(MPI_Type_size_c(type, &size_of));
  OK(MPI_Type_get_extent_c(type, &low, &extent));
  EQ(size_of, many * 4), EQ(low, 0), EQ(extent, many * 4);
  OK(MPI_Type_size(type, &small));
  EQ(small, MPI_UNDEFINED);
  OK(MPI_Type_get_extent(type, &low_a, &extent_a));
  EQ(extent_a, many * 4);
  OK(MPI_Type_vector_c(2, 1, many, MPI_CHAR, &whole));
  OK(MPI_Type_get_extent_c(whole, &low, &extent));
  EQ(extent, many + 1);
  OK(MPI_Status_set_elements_c(&status, MPI_CHAR, many));
  OK(MPI_Get_count(&status, MPI_CHAR, &small));
  EQ(small, MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, MPI_CHAR, &small));
  EQ(small, MPI_UNDEFINED);
  OK(MPI_Get_elements_c(&status, MPI_CHAR, &size_of));
  EQ(size_of, many);
  free_type(&type), free_type(&whole);
}

// --- 5.1.5 .. 5.1.8: addresses, bounds
// -------------------------------------------------------------
static void addresses(void) {
  int data[4] = {0};
  MPI_Aint a = 0, b = 0;
  OK(MPI_Get_address(&data[1], &a));
  OK(MPI_Get_address(&data[3], &b));
  EQ(MPI_Aint_diff(b, a), 2 * (MPI_Aint)sizeof(int));
  EQ(MPI_Aint_add(a, 2 * (MPI_Aint)sizeof(int)), b);
}

static void markers(void) {
  MPI_Datatype marked, type, again;
  OK(MPI_Type_create_resized(MPI_INT, -4, 24, &marked));
  BOUNDS(marked, 4, -4, 24);
  // A struct of a marked type: the marks rule, whatever lies outside.
  OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 100},
                            (MPI_Datatype[]){marked, MPI_CHAR}, &type));
  BOUNDS(type, 5, -4, 24);
  OK(MPI_Type_contiguous(2, type, &again));
  BOUNDS(again, 10, -4, 48);
  free_type(&again);
  OK(MPI_Type_create_resized(type, 0, 8, &again));  // resized again: the new marks only
  BOUNDS(again, 5, 0, 8);
  free_type(&again), free_type(&type), free_type(&marked);
}

static void resized_places(void) {
  MPI_Datatype type;
  OK(MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &type));
  PACKED(type, 3, 0, 3, 6);
  free_type(&type);
}

static void true_bounds(void) {
  MPI_Datatype vector, type;
  MPI_Aint low = -1, extent = -1;
  OK(MPI_Type_create_hindexed(1, (int[]){2}, (MPI_Aint[]){12}, MPI_INT, &vector));
  OK(MPI_Type_create_resized(vector, -100, 500, &type));
  OK(MPI_Type_get_true_extent(type, &low, &extent));
  EQ(low, 12), EQ(extent, 8);
  free_type(&vector), free_type(&type);
}

// --- 5.1.9 .. 5.1.11: lifetimes, use
// ---------------------------------------------------------------
static void commit_twice(void) {
  MPI_Datatype type;
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_commit(&type));
  PACKED(type, 1, 0, 1);
  free_type(&type);
  type = MPI_INT;
  OK(MPI_Type_commit(&type));
}

static void uncommitted(void) {
  MPI_Datatype type, outer;
  int data[2] = {0};
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  FAILS(MPI_Send(data, 1, type, right, 0, comm), MPI_ERR_TYPE);
  OK(MPI_Type_contiguous(1, type, &outer));  // as a component it need not be committed
  OK(MPI_Type_commit(&outer));
  PACKED(outer, 1, 0, 1);
  free_type(&outer), free_type(&type);
}

static void free_in_use(void) {
  const int large = 60000;
  MPI_Datatype type;
  MPI_Request request[2];
  int *out = alloc(2 * large * sizeof(int)), *in = alloc(2 * large * sizeof(int)), wrong = 0;
  for (int i = 0; i < 2 * large; ++i) out[i] = rank + i, in[i] = -1;
  OK(MPI_Type_vector(large, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Irecv(in, 1, type, left, 0, comm, &request[0]));
  OK(MPI_Isend(out, 1, type, right, 0, comm, &request[1]));
  free_type(&type);
  OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * large; ++i) wrong += in[i] != (i % 2 ? -1 : left + i);
  EQ(wrong, 0);
  free(out), free(in);
}

static void derived_outlives(void) {
  MPI_Datatype inner, outer;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
  OK(MPI_Type_contiguous(2, inner, &outer));
  free_type(&inner);
  BOUNDS(outer, 16, 0, 24);
  PACKED(outer, 1, 0, 2, 3, 5);
  free_type(&outer);
}

static void dup_is_committed(void) {
  MPI_Datatype type, copy;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_dup(type, &copy));
  free_type(&type);
  int from[3] = {7, 8, 9}, to[2], at = 0;
  OK(MPI_Pack(from, 1, copy, to, sizeof to, &at, comm));  // committed as the old one was
  EQ(to[0], 7), EQ(to[1], 9);
  free_type(&copy);
  OK(MPI_Type_contiguous(1, MPI_INT, &type));
  OK(MPI_Type_dup(type, &copy));
  FAILS(MPI_Send(from, 1, copy, right, 0, comm), MPI_ERR_TYPE);
  free_type(&type), free_type(&copy);
}

static void overlapping_send(void) {
  MPI_Datatype type;
  int in[4] = {-1, -1, -1, -1}, out[3] = {rank, rank + 1, rank + 2};
  OK(MPI_Type_indexed(2, (int[]){2, 2}, (int[]){0, 1}, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Sendrecv(out, 1, type, right, 0, in, 4, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  EQ(in[0], left), EQ(in[1], left + 1), EQ(in[2], left + 1), EQ(in[3], left + 2);
  free_type(&type);
}

static void partial_elements(void) {
  MPI_Datatype pair;
  MPI_Status status;
  int data[6] = {0}, in[6], n = -1;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Sendrecv(data, 3, MPI_INT, right, 0, in, 3, pair, left, 0, comm, &status));
  OK(MPI_Get_count(&status, pair, &n));
  EQ(n, MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, pair, &n));
  EQ(n, 3);
  OK(MPI_Sendrecv(data, 2, pair, right, 0, in, 3, pair, left, 0, comm, &status));
  OK(MPI_Get_count(&status, pair, &n));
  EQ(n, 2);
  OK(MPI_Get_elements(&status, pair, &n));
  EQ(n, 4);
  free_type(&pair);
}

static void struct_elements(void) {
  MPI_Datatype type;
  MPI_Status status;
  char bytes[13] = {0};
  struct {
    double a;
    int b;
  } in[3];
  int n = -1;
  OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                            (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &type));
  OK(MPI_Type_commit(&type));
  const struct {
    double a;
    int b;
    double c;
  } out = {1, 2, 3};
  MPI_Datatype three;
  OK(MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 8, 16},
                            (MPI_Datatype[]){MPI_DOUBLE, MPI_INT, MPI_DOUBLE}, &three));
  OK(MPI_Type_commit(&three));
  OK(MPI_Sendrecv(&out, 1, three, right, 0, in, 3, type, left, 0, comm, &status));
  OK(MPI_Get_elements(&status, type, &n));
  EQ(n, 3);
  OK(MPI_Get_count(&status, type, &n));
  EQ(n, MPI_UNDEFINED);
  OK(MPI_Sendrecv(bytes, 13, MPI_BYTE, right, 0, in, sizeof in, MPI_BYTE, left, 0, comm, &status));
  OK(MPI_Get_elements(&status, type, &n));  // the 13th byte is no whole element
  EQ(n, MPI_UNDEFINED);
  free_type(&type), free_type(&three);
}

// --- 5.1.13: decoding
// ------------------------------------------------------------------------------
static int combiner_of(MPI_Datatype type) {
  int ints, places, types, combiner = -1;
  OK(MPI_Type_get_envelope(type, &ints, &places, &types, &combiner));
  return combiner;
}

static void contents_(int line, MPI_Datatype type, int combiner, int n_ints, const int* ints,
                      int n_places, const MPI_Aint* places, int n_types, MPI_Datatype first) {
  int ni = -1, np = -1, nt = -1, c = -1, got_ints[16];
  MPI_Aint got_places[8];
  MPI_Datatype got_types[8] = {MPI_DATATYPE_NULL};
  OK(MPI_Type_get_envelope(type, &ni, &np, &nt, &c));
  CHECK(ni == n_ints && np == n_places && nt == n_types && c == combiner,
        "line %d: envelope %d %d %d, combiner %d; expected %d %d %d, %d", line, ni, np, nt, c,
        n_ints, n_places, n_types, combiner);
  if (ni != n_ints || np != n_places || nt != n_types) return;
  OK(MPI_Type_get_contents(type, ni, np, nt, got_ints, got_places, got_types));
  for (int i = 0; i < ni; ++i)
    CHECK(got_ints[i] == ints[i], "line %d: integer %d is %d, expected %d", line, i, got_ints[i],
          ints[i]);
  for (int i = 0; i < np; ++i)
    CHECK(got_places[i] == places[i], "line %d: address %d is %ld, expected %ld", line, i,
          (long)got_places[i], (long)places[i]);
  CHECK(got_types[0] == first, "line %d: the first type is another", line);
}
#define INTS(...)                                              \
  (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]) { \
    __VA_ARGS__                                                \
  }
#define PLACES(...)                                                           \
  (int)(sizeof((MPI_Aint[]){__VA_ARGS__}) / sizeof(MPI_Aint)), (MPI_Aint[]) { \
    __VA_ARGS__                                                               \
  }
#define CONTENTS(...)                 \
  do {                                \
    contents_(__LINE__, __VA_ARGS__); \
    free_type(&type);                 \
  } while (0)

static void contents(void) {
  MPI_Datatype type;
  const MPI_Datatype two[2] = {MPI_INT, MPI_INT};
  OK(MPI_Type_dup(MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_DUP, 0, NULL, 0, NULL, 1, MPI_INT);
  OK(MPI_Type_contiguous(7, MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_CONTIGUOUS, INTS(7), 0, NULL, 1, MPI_INT);
  OK(MPI_Type_vector(3, 2, -4, MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_VECTOR, INTS(3, 2, -4), 0, NULL, 1, MPI_INT);
  OK(MPI_Type_create_hvector(3, 2, -40, MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_HVECTOR, INTS(3, 2), PLACES(-40), 1, MPI_INT);
  OK(MPI_Type_indexed(2, (int[]){1, 2}, (int[]){3, 4}, MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_INDEXED, INTS(2, 1, 2, 3, 4), 0, NULL, 1, MPI_INT);
  OK(MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){3, 4}, MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_HINDEXED, INTS(2, 1, 2), PLACES(3, 4), 1, MPI_INT);
  OK(MPI_Type_create_indexed_block(2, 5, (int[]){3, 4}, MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_INDEXED_BLOCK, INTS(2, 5, 3, 4), 0, NULL, 1, MPI_INT);
  OK(MPI_Type_create_hindexed_block(2, 5, (MPI_Aint[]){3, 4}, MPI_INT, &type));
  CONTENTS(type, MPI_COMBINER_HINDEXED_BLOCK, INTS(2, 5), PLACES(3, 4), 1, MPI_INT);
  OK(MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8}, two, &type));
  CONTENTS(type, MPI_COMBINER_STRUCT, INTS(2, 1, 2), PLACES(0, 8), 2, MPI_INT);
  OK(MPI_Type_create_resized(MPI_INT, -8, 32, &type));
  CONTENTS(type, MPI_COMBINER_RESIZED, 0, NULL, PLACES(-8, 32), 1, MPI_INT);
  OK(MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 0}, MPI_ORDER_C, MPI_INT,
                              &type));
  CONTENTS(type, MPI_COMBINER_SUBARRAY, INTS(2, 4, 5, 2, 3, 1, 0, MPI_ORDER_C), 0, NULL, 1,
           MPI_INT);
  OK(MPI_Type_create_darray(2, 1, 1, (int[]){9}, (int[]){MPI_DISTRIBUTE_BLOCK},
                            (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2}, MPI_ORDER_C, MPI_INT,
                            &type));
  CONTENTS(type, MPI_COMBINER_DARRAY,
           INTS(2, 1, 1, 9, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 2, MPI_ORDER_C), 0,
           NULL, 1, MPI_INT);
}

static void contents_large(void) {
  MPI_Datatype type, first;
  MPI_Count ni = -1, np = -1, nc = -1, nt = -1, counts[3] = {0};
  int combiner = -1, small[3];

  OK(MPI_Type_vector_c(3, 2, -4, MPI_INT, &type));
  OK(MPI_Type_get_envelope_c(type, &ni, &np, &nc, &nt, &combiner));
  EQ(ni, 0), EQ(np, 0), EQ(nc, 3), EQ(nt, 1), EQ(combiner, MPI_COMBINER_VECTOR);
  OK(MPI_Type_get_contents_c(type, ni, np, nc, nt, NULL, NULL, counts, &first));
  EQ(counts[0], 3), EQ(counts[1], 2), EQ(counts[2], -4);
  CHECK(first == MPI_INT, "the component is not MPI_INT");
  CHECK(MPI_Type_get_contents(type, 3, 0, 1, small, NULL, &first) != MPI_SUCCESS,
        "the int form decodes a type made with large counts");

  free_type(&type);
}

static void contents_handles(void) {
  MPI_Datatype inner, outer, got;
  int number;
  OK(MPI_Type_contiguous(2, MPI_INT, &inner));
  OK(MPI_Type_contiguous(3, inner, &outer));
  free_type(&inner);
  OK(MPI_Type_get_contents(outer, 1, 0, 1, &number, NULL, &got));
  EQ(number, 3);
  BOUNDS(got, 8, 0, 8);
  EQ(combiner_of(got), MPI_COMBINER_CONTIGUOUS);
  free_type(&outer);
  BOUNDS(got, 8, 0, 8);  // a handle of its own, to be freed
  free_type(&got);
}

static void named_contents(void) {
  int number;
  MPI_Aint place;
  MPI_Datatype type;
  EQ(combiner_of(MPI_DOUBLE), MPI_COMBINER_NAMED);
  EQ(combiner_of(MPI_2INT), MPI_COMBINER_NAMED);
  CHECK(MPI_Type_get_contents(MPI_INT, 0, 0, 0, &number, &place, &type) != MPI_SUCCESS,
        "Type_get_contents of a predefined type succeeds");
}

static void f90_types(void) {
  MPI_Datatype a, b, c;
  int n;
  OK(MPI_Type_create_f90_real(15, 307, &a));
  OK(MPI_Type_create_f90_real(15, 307, &b));
  CHECK(a == b, "two calls with the same arguments give two types");
  OK(MPI_Type_size(a, &n));
  EQ(n, 8);
  EQ(combiner_of(a), MPI_COMBINER_F90_REAL);
  OK(MPI_Type_create_f90_integer(9, &b));
  OK(MPI_Type_size(b, &n));
  EQ(n, 4);
  EQ(combiner_of(b), MPI_COMBINER_F90_INTEGER);
  OK(MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &c));
  OK(MPI_Type_size(c, &n));
  EQ(n, 16);
  EQ(combiner_of(c), MPI_COMBINER_F90_COMPLEX);
  double out = rank, in = -1;
  OK(MPI_Sendrecv(&out, 1, a, right, 0, &in, 1, MPI_DOUBLE, left, 0, comm, MPI_STATUS_IGNORE));
  CHECK(in == left, "got %g, expected %d", in, left);
  CHECK(MPI_Type_free(&a) != MPI_SUCCESS, "an F90 type can be freed");
}

static void value_index(void) {
  MPI_Datatype type;
  OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
  CHECK(type == MPI_DOUBLE_INT, "double and int are not MPI_DOUBLE_INT");
  OK(MPI_Type_get_value_index(MPI_FLOAT, MPI_INT64_T, &type));
  if (type != MPI_DATATYPE_NULL) {  // none is an answer as well
    struct {
      float value;
      int64_t index;
    } mine = {(float)rank, rank + 10}, least = {-1, -1};
    OK(MPI_Allreduce(&mine, &least, 1, type, MPI_MINLOC, comm));
    EQ(least.index, 10);
  }
}

// --- 5.2, 5.3: packing
// -----------------------------------------------------------------------------
static void pack_is_send(void) {
  MPI_Datatype strided;
  MPI_Request request;
  int data[6], at = 0, bytes = -1, in[3] = {-1, -1, -1};
  char* packed;
  for (int i = 0; i < 6; ++i) data[i] = rank * 10 + i;
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &strided));
  OK(MPI_Type_commit(&strided));
  OK(MPI_Pack_size(1, strided, comm, &bytes));
  packed = alloc(bytes);
  OK(MPI_Pack(data, 1, strided, packed, bytes, &at, comm));
  CHECK(at <= bytes, "packed %d bytes, Pack_size said %d", at, bytes);
  OK(MPI_Isend(packed, at, MPI_PACKED, right, 0, comm, &request));  // packed to typed
  OK(MPI_Recv(in, 3, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < 3; ++i) EQ(in[i], left * 10 + 2 * i);
  OK(MPI_Isend(data, 1, strided, right, 0, comm, &request));  // typed to packed
  MPI_Status status;
  char* got = alloc(bytes);
  OK(MPI_Recv(got, bytes, MPI_PACKED, left, 0, comm, &status));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Get_count(&status, MPI_PACKED, &bytes));
  at = 0;
  for (int i = 0; i < 3; ++i) {  // in pieces
    OK(MPI_Unpack(got, bytes, &at, in, 1, MPI_INT, comm));
    EQ(in[0], left * 10 + 2 * i);
  }
  EQ(at, bytes);
  free(packed), free(got);
  free_type(&strided);
}

static void external32(void) {
  const int value = 0x01020304;
  const double one = 1.0;
  unsigned char out[32];
  const unsigned char want[] = {1, 2, 3, 4, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0};
  MPI_Aint at = 0, bytes = -1;
  OK(MPI_Pack_external("external32", &value, 1, MPI_INT, out, sizeof out, &at));
  OK(MPI_Pack_external("external32", &one, 1, MPI_DOUBLE, out, sizeof out, &at));
  EQ(at, 12);
  CHECK(memcmp(out, want, sizeof want) == 0, "external32 is not big-endian IEEE");
  OK(MPI_Pack_external_size("external32", 3, MPI_LONG, &bytes));
  EQ(bytes, 12);  // a long is 4 bytes there
  int back = 0;
  double also = 0;
  at = 0;
  OK(MPI_Unpack_external("external32", out, 12, &at, &back, 1, MPI_INT));
  OK(MPI_Unpack_external("external32", out, 12, &at, &also, 1, MPI_DOUBLE));
  EQ(back, value);
  CHECK(also == one && at == 12, "unpacked %g, position %ld", also, (long)at);
  CHECK(MPI_Pack_external("native", &value, 1, MPI_INT, out, sizeof out, &at) != MPI_SUCCESS,
        "a data representation other than external32 is taken");
}

// --- 7.7.4, 7.8: attributes and names of types
// -----------------------------------------------------
static int key_copies, key_deletes;
static int copy_next(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra;
  ++key_copies;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int count_delete(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  ++key_deletes;
  return MPI_SUCCESS;
}

static void attributes(void) {
  MPI_Datatype type, copy, outer;
  int key, flag = 0;
  char base[4], *value = NULL;
  key_copies = key_deletes = 0;
  OK(MPI_Type_create_keyval(copy_next, count_delete, &key, NULL));
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_set_attr(type, key, base));
  OK(MPI_Type_contiguous(2, type, &outer));  // attributes are copied by dup only
  OK(MPI_Type_get_attr(outer, key, &value, &flag));
  EQ(flag, 0);
  free_type(&outer);
  OK(MPI_Type_dup(type, &copy));
  EQ(key_copies, 1);
  OK(MPI_Type_get_attr(copy, key, &value, &flag));
  CHECK(flag && value == base + 1, "the copy has not the callback's value");
  OK(MPI_Type_delete_attr(copy, key));
  EQ(key_deletes, 1);
  OK(MPI_Type_set_attr(copy, key, base));
  free_type(&copy);
  EQ(key_deletes, 2);
  OK(MPI_Type_free_keyval(&key));
  EQ(key, MPI_KEYVAL_INVALID);
  free_type(&type);
  EQ(key_deletes, 3);
}

static void names(void) {
  MPI_Datatype type, copy;
  char name[MPI_MAX_OBJECT_NAME] = "?";
  int length = -1;
  OK(MPI_Type_get_name(MPI_INT, name, &length));
  TEXT(name, "MPI_INT");
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_get_name(type, name, &length));
  EQ(length, 0);
  TEXT(name, "");
  OK(MPI_Type_set_name(type, "two ints"));
  OK(MPI_Type_dup(type, &copy));
  OK(MPI_Type_get_name(copy, name, &length));
  TEXT(name, "");  // a name does not propagate
  OK(MPI_Type_get_name(type, name, &length));
  TEXT(name, "two ints");
  EQ(length, 8);
  free_type(&type), free_type(&copy);
}

static const Rule table[] = {
    {"5.1.2-vector-negative", vector_negative,
     "strides may be negative; the bounds are those of the type map"},
    {"5.1.2-indexed-order", indexed_order, "blocks are sent in the order they are listed"},
    {"5.1.2-empty-blocks", empty_blocks, "blocks of length zero have no part in the type map"},
    {"5.1.6-struct-padding", struct_padding,
     "the extent of a struct is rounded up to the strictest alignment of its types"},
    {"5.1.3-subarray-orders", subarray_orders,
     "a subarray's extent is the whole array's; MPI_ORDER_C has the last index fastest"},
    {"5.1.4-darray-covers", darray_covers,
     "the parts of all ranks cover the array once; the process grid is row-major in both orders"},
    {"5.1.5-large-counts", large_counts,
     "a value too large for its parameter is returned as MPI_UNDEFINED; the _c forms return it"},
    {"5.1.5-addresses", addresses, "Aint_diff and Aint_add compute on addresses of Get_address"},
    {"5.1.7-markers", markers,
     "bounds set by Type_create_resized rule those of every type made of it, until resized again"},
    {"5.1.7-resized-places", resized_places, "element i of a buffer lies i extents from its start"},
    {"5.1.8-true-extent", true_bounds, "the true extent ignores resized bounds"},
    {"5.1.9-commit-twice", commit_twice,
     "committing a committed type, or a predefined one, does nothing"},
    {"5.1.9-uncommitted", uncommitted,
     "communication needs a committed type; a component of another type need not be committed"},
    {"5.1.9-free-in-use", free_in_use, "communication that uses a freed type completes normally"},
    {"5.1.9-derived-outlives", derived_outlives, "types made of a freed type are not affected"},
    {"5.1.10-dup", dup_is_committed, "a duplicate has the committed state of its original"},
    {"5.1.11-overlapping-send", overlapping_send, "a type of a send may name a location twice"},
    {"5.1.11-get-elements", partial_elements,
     "Get_elements counts basic elements where Get_count says MPI_UNDEFINED"},
    {"5.1.11-get-elements-struct", struct_elements,
     "Get_elements counts elements of different size; MPI_UNDEFINED if the last is not whole"},
    {"5.1.13-contents", contents, "envelope and contents return the arguments of the constructor"},
    {"5.1.13-contents-large", contents_large,
     "a type made with large counts is decoded by the _c forms only"},
    {"5.1.13-contents-handles", contents_handles,
     "derived types in the contents are new handles, equivalent to the original ones"},
    {"5.1.13-named", named_contents, "a predefined type is NAMED and has no contents"},
    {"19.1.5-f90-types", f90_types,
     "Type_create_f90_* returns the same predefined type for the same arguments"},
    {"5.1-value-index", value_index,
     "Type_get_value_index finds the predefined pair, MPI_DATATYPE_NULL if there is none"},
    {"5.2-pack-is-send", pack_is_send, "what was packed can be received typed, and the reverse"},
    {"5.3-external32", external32, "external32 is big-endian, with the sizes of its table"},
    {"7.7.4-attributes", attributes, "Type_dup copies attributes; other constructors do not"},
    {"7.8-names", names, "a predefined type has its own name, others none; dup copies no name"},
};
RULES(table)
