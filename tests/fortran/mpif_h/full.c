// SPDX-License-Identifier: Apache-2.0
// Room for procedures without an extra state ends with an error, not with a wrong one being called;
// the same procedure takes no more of it. The library's side is called as a Fortran compiler would;
// none of these procedures is.
#include "../../rank/check.h"

void mpi_op_create_(void (*)(void), int*, int*, int*);
void mpi_op_free_(int*, int*);

int main(int argc, char** argv) {
  start(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  int commutes = 1, op = 0, e = -1;
  for (int i = 0; i < 256; ++i) {
    for (int again = 0; again < 3; ++again) {
      mpi_op_create_((void (*)(void))(uintptr_t)(8 * (i + 1)), &commutes, &op, &e);
      EQ(e, MPI_SUCCESS);
      mpi_op_free_(&op, &e);
      EQ(e, MPI_SUCCESS);
    }
  }
  mpi_op_create_((void (*)(void))(uintptr_t)(8 * 257), &commutes, &op, &e);
  EQ(e, MPI_ERR_OTHER);
  EQ(op, 0x20);  // MPI_OP_NULL
  mpi_op_create_((void (*)(void))(uintptr_t)8, &commutes, &op, &e);
  EQ(e, MPI_SUCCESS);
  mpi_op_free_(&op, &e);
  return finish();
}
