// SPDX-License-Identifier: Apache-2.0
// Both ranks send a large message before they receive.
#include <mpi.h>

static double out[1 << 18], in[1 << 18];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Send(out, 1 << 18, MPI_DOUBLE, 1 - rank, 3, MPI_COMM_WORLD);
  MPI_Recv(in, 1 << 18, MPI_DOUBLE, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
