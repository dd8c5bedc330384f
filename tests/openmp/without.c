// SPDX-License-Identifier: Apache-2.0
// A program without OpenMP that packs what is worth helping with: no OpenMP runtime is loaded.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/idle.h"

enum { n = 1 << 20 };

int main(int argc, char** argv) {
  char line[512];
  int position = 0, failures = 0, guaranteed = -1, temporary = -1;
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  double* spread = calloc(2 * n, sizeof(double));
  double* packed = malloc(n * sizeof(double));
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Pack(spread, 1, type, packed, n * 8, &position, MPI_COMM_SELF);
  WEFT_Idle_threads(&guaranteed, &temporary);
  failures += guaranteed != 0 || temporary != 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "omp.so") != NULL) {
      fprintf(stderr, "loaded: %s", line);
      ++failures;
    }
  MPI_Type_free(&type);
  MPI_Finalize();
  if (failures == 0 && maps != NULL) printf("ok\n");
  return failures != 0;
}
