/* SPDX-License-Identifier: Apache-2.0 */
/* The empty MPI program: what it costs to start and end a job. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
