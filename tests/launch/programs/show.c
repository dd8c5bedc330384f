// SPDX-License-Identifier: Apache-2.0
// show NAME...: every rank prints its values of these variables, then "cwd" and its directory.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  char directory[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    const char* value = getenv(argv[i]);
    printf("%d %s=%s\n", rank, argv[i], value ? value : "(unset)");
  }
  printf("%d cwd=%s\n", rank, getcwd(directory, sizeof directory));
  MPI_Finalize();
  return 0;
}
