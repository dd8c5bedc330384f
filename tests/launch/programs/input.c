// SPDX-License-Identifier: Apache-2.0
// input: rank 0 reads stdin to its end and prints how much came and a checksum; the others must see
// the end at once.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, byte;
  long bytes = 0;
  unsigned long sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while ((byte = getchar()) != EOF) {
    ++bytes;
    sum = sum * 31 + (unsigned)byte;
  }
  printf("rank %d read %ld bytes, checksum %lu\n", rank, bytes, sum & 0xffffffff);
  MPI_Finalize();
  return 0;
}
