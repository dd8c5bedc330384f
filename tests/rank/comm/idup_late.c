// SPDX-License-Identifier: Apache-2.0
// MPI_Wait for a communicator that is being made lasts: it is noted for hang reports meanwhile.
#include <unistd.h>

#include "../check.h"

int main(int argc, char** argv) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request;
  int result;
  start(&argc, &argv);
  if (rank == 0) usleep(100000);
  OK(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_compare(MPI_COMM_WORLD, made, &result));
  EQ(result, MPI_CONGRUENT);
  OK(MPI_Comm_free(&made));
  return finish();
}
