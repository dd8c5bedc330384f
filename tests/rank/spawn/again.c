// SPDX-License-Identifier: Apache-2.0
// again JOBS [MODE]: spawned jobs one after the other, which leave no descriptor and no process.
// Some say goodbye by MPI_Comm_disconnect, others by MPI_Comm_free.
#include <dirent.h>
#include <unistd.h>

#include "family.h"

static int descriptors(void) {
  int n = 0;
  DIR* all = opendir("/proc/self/fd");
  while (all != NULL && readdir(all) != NULL) ++n;
  if (all != NULL) closedir(all);
  return n;
}

int main(int argc, char** argv) {
  if (start_family(&argc, &argv)) {
    int value = -1;
    const int job = atoi(argv[1]);
    OK(MPI_Bcast(&value, 1, MPI_INT, 0, parents));
    EQ(value, job);
    OK(job % 2 == 0 ? MPI_Comm_disconnect(&parents) : MPI_Comm_free(&parents));
    return finish_child();
  }
  const int jobs = atoi(argv[1]);
  int before = 0;
  for (int job = 0; job < jobs; ++job) {
    char number[16];
    snprintf(number, sizeof number, "%d", job);
    MPI_Comm children = spawn(argv[0], number, 1 + job % 2, argc > 2 ? argv[2] : "");
    OK(MPI_Bcast(&job, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children));
    OK(job % 2 == 0 ? MPI_Comm_disconnect(&children) : MPI_Comm_free(&children));
    if (job == 4) before = descriptors();
  }
  // Between nodes connections of ranks that have ended go when somebody looks at them.
  const int most = getenv("TEST_NODES") && atoi(getenv("TEST_NODES")) > 1 ? before + 8 : before;
  if (jobs > 5) CHECK(descriptors() <= most, "%d descriptors, not %d", descriptors(), before);
  return finish();
}
