// SPDX-License-Identifier: Apache-2.0
// MPI_UNIVERSE_SIZE is the same for all worlds of a job, unless there are more ranks than it was
// meant for (MPI-5.0 §11.10.1).
#include "family.h"

static int universe(void) {
  int *value = NULL, flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
  CHECK(flag == 1, "MPI_UNIVERSE_SIZE is not set");
  return flag == 1 ? *value : 0;
}

int main(int argc, char** argv) {
  const int is_child = start_family(&argc, &argv);
  const int mine = universe();
  int theirs = 0;
  CHECK(mine >= size, "a universe of %d, a world of %d", mine, size);
  if (is_child) {
    int parent_count = 0;
    OK(MPI_Comm_remote_size(parents, &parent_count));
    OK(MPI_Bcast(&theirs, 1, MPI_INT, 0, parents));
    const int all = parent_count + size;
    EQ(mine, theirs > all ? theirs : all);
    OK(MPI_Comm_disconnect(&parents));
    return finish_child();
  }
  MPI_Comm children = spawn(argv[0], "", 3, "");
  theirs = mine;
  OK(MPI_Bcast(&theirs, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children));
  OK(MPI_Comm_disconnect(&children));
  return finish();
}
