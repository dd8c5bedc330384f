// SPDX-License-Identifier: Apache-2.0
// nodes: each rank says with whom it shares a node, and what it got from its left neighbour and
// from all: "2: rank 0 of 2 on its node, left 1, sum 6".
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, left = -1, sum = 0, here, beside;
  MPI_Comm node;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &left, 1, MPI_INT, (rank + size - 1) % size,
               5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &here);
  MPI_Comm_size(node, &beside);
  printf("%d: rank %d of %d on its node, left %d, sum %d\n", rank, here, beside, left, sum);
  MPI_Comm_free(&node);
  MPI_Finalize();
  return 0;
}
