// SPDX-License-Identifier: Apache-2.0
// Right, but slow: ranks wait for two spawned ones, which compute for as many seconds as the
// argument says: one before it is in MPI, then while the other one and all parents wait for it,
// then while all wait for it in MPI_Comm_disconnect. Twice, so that the second ones get the first
// ones' places.
#include <mpi.h>
#include <stdlib.h>

static void compute(double seconds) {
  for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) continue;
}

static void child(MPI_Comm parents, int rank, double seconds) {
  int value = 0;
  if (rank == 1) {
    compute(seconds);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, 0, 1, parents);
    compute(seconds);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Comm_disconnect(&parents);
}

int main(int argc, char** argv) {
  const double seconds = atof(argv[1]);
  const char* number = getenv("WEFT_RANK");  // of a child too, among its own
  if (argc > 2 && number[0] == '1') compute(seconds);
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm parents, children;
  MPI_Comm_get_parent(&parents);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* words[] = {argv[1], (char*)"child", NULL};
  if (parents != MPI_COMM_NULL) child(parents, rank, seconds);
  for (int i = 0; i < 2 && parents == MPI_COMM_NULL; ++i) {
    MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 1, children, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_disconnect(&children);
  }
  MPI_Finalize();
  return 0;
}
