// SPDX-License-Identifier: Apache-2.0
// universe [CHILDREN [HOST]]: every rank says MPI_UNIVERSE_SIZE and on which host it is; all may
// spawn some of this program, on a host.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, flag = 0, *universe = NULL;
  MPI_Comm parents, children = MPI_COMM_NULL;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parents);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
  const char* host = getenv("HOSTNAME");
  printf("%s %d: universe %d on %s\n", parents != MPI_COMM_NULL ? "child" : "rank", rank,
         flag != 0 ? *universe : -1, host != NULL ? host : "this host");
  fflush(stdout);
  if (argc > 1 && parents == MPI_COMM_NULL) {
    MPI_Info_create(&info);
    if (argc > 2) MPI_Info_set(info, "host", argv[2]);
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[1]), info, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
  }
  MPI_Comm* const others = parents != MPI_COMM_NULL ? &parents : &children;
  if (*others != MPI_COMM_NULL) {
    MPI_Barrier(*others);
    MPI_Comm_disconnect(others);
  }
  return MPI_Finalize();
}
