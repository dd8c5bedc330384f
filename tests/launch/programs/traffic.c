// SPDX-License-Identifier: Apache-2.0
// traffic: messages of all protocols around a ring, plain and strided, and some collectives; prints
// "traffic ok N".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, wrong = 0, all_wrong = 0;
  static const int lengths[] = {0, 1, 10, 100, 1000, 5000, 30000, 300000, 2000000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int k = 0; k < 9; ++k) {
    const int n = lengths[k];
    int *out = malloc(sizeof(int) * 2 * (n + 1)), *in = malloc(sizeof(int) * 2 * (n + 1));
    for (int strided = 0; strided < 2; ++strided) {
      MPI_Datatype type;
      MPI_Type_vector(n, 1, 1 + strided, MPI_INT, &type);
      MPI_Type_commit(&type);
      for (int i = 0; i < 2 * n; ++i) out[i] = rank + i, in[i] = -1;
      MPI_Sendrecv(out, 1, type, right, k, in, 1, type, left, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < n; ++i) wrong += in[i * (1 + strided)] != left + i * (1 + strided);
      MPI_Type_free(&type);
    }
    for (int i = 0; i < n; ++i) out[i] = rank + i;
    MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) wrong += in[i] != size * (size - 1) / 2 + size * i;
    free(out);
    free(in);
  }
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("traffic %s %d\n", all_wrong ? "wrong" : "ok", size);
  MPI_Finalize();
  return wrong != 0;
}
