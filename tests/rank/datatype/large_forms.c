// SPDX-License-Identifier: Apache-2.0
// Every _c form of the datatype constructors makes the type that its int form makes: same bounds,
// same data. Packing with large counts.
#include "../check.h"

static void same_(int line, MPI_Datatype small, MPI_Datatype large) {
  int from[200], a[200], b[200], at = 0;
  MPI_Count low[2], extent[2], true_low[2], true_extent[2], at_c = 0;
  const MPI_Datatype both[2] = {small, large};
  for (int i = 0; i < 200; ++i) from[i] = i, a[i] = b[i] = -1;
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Type_get_extent_c(both[i], &low[i], &extent[i]));
    OK(MPI_Type_get_true_extent_c(both[i], &true_low[i], &true_extent[i]));
  }
  CHECK(low[0] == low[1] && extent[0] == extent[1] && true_low[0] == true_low[1] &&
            true_extent[0] == true_extent[1],
        "line %d: the bounds differ: %ld + %ld and %ld + %ld", line, (long)low[0], (long)extent[0],
        (long)low[1], (long)extent[1]);
  OK(MPI_Type_commit(&small));
  OK(MPI_Type_commit(&large));
  OK(MPI_Pack(from, 1, small, a, sizeof a, &at, MPI_COMM_SELF));
  OK(MPI_Pack_c(from, 1, large, b, sizeof b, &at_c, MPI_COMM_SELF));
  CHECK(at > 0 && at == at_c && memcmp(a, b, sizeof a) == 0, "line %d: the data differ", line);
  OK(MPI_Type_free(&small));
  OK(MPI_Type_free(&large));
}
#define SAME same_(__LINE__, small, large)

static void external(void) {
  const int out[3] = {1, 2, 3};
  char room[12];
  int in[3] = {0};
  MPI_Count at = 0, bytes = -1;
  OK(MPI_Pack_external_size_c("external32", 3, MPI_INT, &bytes));
  EQ(bytes, 12);
  OK(MPI_Pack_external_c("external32", out, 3, MPI_INT, room, sizeof room, &at));
  EQ(at, 12);
  EQ(room[3], 1);
  at = 0;
  OK(MPI_Unpack_external_c("external32", room, sizeof room, &at, in, 3, MPI_INT));
  EQ(at, 12);
  EQ(in[2], 3);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Datatype small, large;
  const MPI_Datatype types[2] = {MPI_INT, MPI_SHORT};
  const int n[2] = {2, 3}, at[2] = {7, 1};
  const MPI_Count n_c[2] = {2, 3}, at_c[2] = {7, 1}, bytes_c[2] = {48, 4};
  const MPI_Aint bytes[2] = {48, 4};
  OK(MPI_Type_contiguous(5, MPI_INT, &small));
  OK(MPI_Type_contiguous_c(5, MPI_INT, &large));
  SAME;
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, &small));
  OK(MPI_Type_vector_c(3, 2, 5, MPI_INT, &large));
  SAME;
  OK(MPI_Type_create_hvector(3, 2, 28, MPI_INT, &small));
  OK(MPI_Type_create_hvector_c(3, 2, 28, MPI_INT, &large));
  SAME;
  OK(MPI_Type_indexed(2, n, at, MPI_INT, &small));
  OK(MPI_Type_indexed_c(2, n_c, at_c, MPI_INT, &large));
  SAME;
  OK(MPI_Type_create_hindexed(2, n, bytes, MPI_INT, &small));
  OK(MPI_Type_create_hindexed_c(2, n_c, bytes_c, MPI_INT, &large));
  SAME;
  OK(MPI_Type_create_indexed_block(2, 3, at, MPI_INT, &small));
  OK(MPI_Type_create_indexed_block_c(2, 3, at_c, MPI_INT, &large));
  SAME;
  OK(MPI_Type_create_hindexed_block(2, 3, bytes, MPI_INT, &small));
  OK(MPI_Type_create_hindexed_block_c(2, 3, bytes_c, MPI_INT, &large));
  SAME;
  OK(MPI_Type_create_struct(2, n, bytes, types, &small));
  OK(MPI_Type_create_struct_c(2, n_c, bytes_c, types, &large));
  SAME;
  OK(MPI_Type_create_resized(MPI_INT, -8, 40, &small));
  OK(MPI_Type_create_resized_c(MPI_INT, -8, 40, &large));
  SAME;
  const int whole[2] = {6, 8}, part[2] = {2, 3}, from[2] = {1, 4};
  const MPI_Count whole_c[2] = {6, 8}, part_c[2] = {2, 3}, from_c[2] = {1, 4};
  OK(MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_FORTRAN, MPI_INT, &small));
  OK(MPI_Type_create_subarray_c(2, whole_c, part_c, from_c, MPI_ORDER_FORTRAN, MPI_INT, &large));
  SAME;
  const int kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, grid[2] = {2, 2},
            args[2] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  OK(MPI_Type_create_darray(4, 3, 2, whole, kinds, args, grid, MPI_ORDER_C, MPI_INT, &small));
  OK(MPI_Type_create_darray_c(4, 3, 2, whole_c, kinds, args, grid, MPI_ORDER_C, MPI_INT, &large));
  SAME;
  external();
  return finish();
}
