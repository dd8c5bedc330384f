// SPDX-License-Identifier: Apache-2.0
// Operations as objects: which commute, creation and freeing in numbers, freeing while one is in
// use, and Reduce_local.
#include "../check.h"

static void twice_plus(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += 2 * ((int*)in)[i];
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const MPI_Op predefined[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                               MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  int commutes = 0;
  for (size_t i = 0; i < sizeof predefined / sizeof *predefined; ++i) {
    OK(MPI_Op_commutative(predefined[i], &commutes));
    EQ(commutes, 1);
  }
  MPI_Op op[500];
  for (int i = 0; i < 500; ++i) {
    OK(MPI_Op_create(twice_plus, i % 2, &op[i]));
    OK(MPI_Op_commutative(op[i], &commutes));
    EQ(commutes, i % 2);
  }
  int in[5] = {1, 2, 3, 4, 5}, inout[5] = {10, 20, 30, 40, 50};
  OK(MPI_Reduce_local(in, inout, 5, MPI_INT, op[250]));
  for (int i = 0; i < 5; ++i) EQ(inout[i], 10 * (i + 1) + 2 * (i + 1));
  OK(MPI_Reduce_local_c(in, inout, 5, MPI_INT, MPI_SUM));
  for (int i = 0; i < 5; ++i) EQ(inout[i], 13 * (i + 1));
  OK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, op[3]));
  for (int i = 0; i < 500; ++i) {
    OK(MPI_Op_free(&op[i]));
    CHECK(op[i] == MPI_OP_NULL, "Op_free left handle %d as it was", i);
  }
  return finish();
}
