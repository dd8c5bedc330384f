// SPDX-License-Identifier: Apache-2.0
// Ranks that disagree in a collective: different roots, and a part longer than its place. At least
// one rank gets an error of the right class, and the job ends: the library may not hang, nor give
// wrong data without a word.
#include "bad.h"

static int class_of(int code) {
  int class = 0;
  OK(MPI_Error_class(code, &class));
  return class;
}

static void roots(void) {
  MPI_Comm comm;
  int value = rank, worst = 0, mine;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  mine = class_of(MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? 0 : 1, comm));
  OK(MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(worst == MPI_ERR_ROOT,
        "different roots in Bcast gave class %d at worst, expected MPI_ERR_ROOT", worst);
}

static void truncation(int bytes, int room) {
  MPI_Comm comm;
  char* data = alloc(bytes);
  int worst = 0, mine;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  memset(data, 7, bytes);
  mine = class_of(MPI_Bcast(data, rank == 0 ? bytes : room, MPI_CHAR, 0, comm));
  for (int i = room; i < bytes && rank; ++i) {
    if (data[i] != 7) DIE("a broadcast of %d bytes into %d wrote past the end", bytes, room);
  }
  OK(MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(worst == MPI_ERR_TRUNCATE,
        "%d bytes broadcast into %d gave class %d at worst, expected MPI_ERR_TRUNCATE", bytes, room,
        worst);
  free(data);
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "roots") == 0) {
    roots();
  } else {
    truncation(100, 50);
    truncation(500000, 50);
    truncation(500000, 499999);
  }
  return finish();
}
