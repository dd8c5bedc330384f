// SPDX-License-Identifier: Apache-2.0
// mistake WHAT RANK: that rank makes one mistake under MPI_ERRORS_ARE_FATAL, while the others wait.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Errors of files are returned.
static int refused(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  fprintf(stderr, "%s\n", text);
  return error != MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int rank, value[4] = {1, 2, 3, 4};
  double d[2] = {0, 0}, e[2];
  MPI_Datatype open;
  if (argc < 3) return 97;
  const char* what = argv[1];
  if (strcmp(what, "early") == 0) MPI_Send(value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_File file;
  if (strcmp(what, "unsupported") == 0)
    return refused(MPI_File_open(MPI_COMM_SELF, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_contiguous(2, MPI_INT, &open);
  MPI_Barrier(MPI_COMM_WORLD);
  // `late` needs everybody in MPI_Finalize; in all other cases the others wait.
  const int late = strcmp(what, "late") == 0;
  if (rank != atoi(argv[2]) && !late)
    MPI_Recv(value, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(what, "count") == 0) MPI_Send(value, -5, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (strcmp(what, "null") == 0) MPI_Send(NULL, 3, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (strcmp(what, "rank") == 0) MPI_Send(value, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
  if (strcmp(what, "tag") == 0) MPI_Send(value, 1, MPI_INT, 0, -44, MPI_COMM_WORLD);
  if (strcmp(what, "type") == 0) MPI_Send(value, 1, open, 0, 0, MPI_COMM_WORLD);
  if (strcmp(what, "comm") == 0) MPI_Send(value, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
  if (strcmp(what, "root") == 0) MPI_Bcast(value, 1, MPI_INT, 55, MPI_COMM_WORLD);
  if (strcmp(what, "op") == 0) MPI_Reduce_local(d, e, 1, MPI_DOUBLE, MPI_BAND);
  if (strcmp(what, "truncate") == 0) {
    MPI_Request request;
    MPI_Irecv(value, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
    MPI_Send(value, 4, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (late) {
    MPI_Finalize();
    if (rank != atoi(argv[2])) return 0;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  fprintf(stderr, "rank %d is still there after the mistake '%s'\n", rank, what);
  return 0;
}
