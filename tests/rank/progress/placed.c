// SPDX-License-Identifier: Apache-2.0
// Where the kernel lets each rank's progress thread run: on the CPUs of the argument ("0"), within
// those of its rank ("here"), or nowhere, because there is none ("none"). "every N": how many there
// are, if N ranks of a process share one; over several nodes each has its own.
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include "../check.h"

static int threads;  // in this process

/// Of the thread of this rank; 0: there is none.
static long find_thread(void) {
  char wanted[32], path[300], name[32];
  snprintf(wanted, sizeof wanted, "weft-prog.%d\n", rank);
  threads = 0;
  DIR* all = opendir("/proc/self/task");
  if (all == NULL) DIE("cannot look at threads");
  long found = 0;
  for (struct dirent* each; (each = readdir(all)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", each->d_name);
    FILE* file = fopen(path, "re");
    if (file == NULL) continue;
    if (fgets(name, sizeof name, file) == NULL) name[0] = 0;
    if (strcmp(name, wanted) == 0) found = atol(each->d_name);
    if (strncmp(name, "weft-prog.", 10) == 0) ++threads;
    fclose(file);
  }
  closedir(all);
  return found;
}

/// Ranks of this process.
static int count_ranks_here(void) {
  int pids[64], own = 0, here = 0;
  char line[128];
  FILE* file = fopen("/proc/self/status", "re");  // getpid() tells ranks apart
  while (file != NULL && own == 0 && fgets(line, sizeof line, file) != NULL)
    sscanf(line, "Tgid: %d", &own);
  if (own == 0) DIE("cannot ask for the process");
  fclose(file);
  if (size > 64) DIE("expected: at most 64 ranks");
  MPI_Allgather(&own, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) here += pids[r] == own;
  return here;
}

int main(int argc, char** argv) {
  if (argc < 2) DIE("expected: none, here, or a CPU");
  start(&argc, &argv);
  const char* expected = argv[1];
  const long thread = find_thread();
  MPI_Barrier(MPI_COMM_WORLD);  // before any thread ends: the list skips one where another has
  if (strcmp(expected, "none") == 0) {
    CHECK(thread == 0, "rank %d has a progress thread", rank);
    return finish();
  }
  if (strcmp(expected, "every") == 0) {
    const char* nodes = getenv("TEST_NODES");
    const int most = nodes != NULL && atoi(nodes) > 1 ? 1 : atoi(argv[2]),
              here = count_ranks_here();
    find_thread();  // all have come
    EQ(threads, (here + most - 1) / most);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
  }
  cpu_set_t own, its;
  CHECK(thread != 0, "rank %d has no progress thread", rank);
  if (sched_getaffinity(0, sizeof own, &own) != 0 ||
      sched_getaffinity((pid_t)thread, sizeof its, &its) != 0)
    DIE("cannot ask for CPUs");
  if (strcmp(expected, "here") == 0) {
    cpu_set_t both;
    CPU_AND(&both, &own, &its);
    CHECK(CPU_EQUAL(&both, &its), "the thread of rank %d may leave the rank's CPUs", rank);
  } else {
    cpu_set_t job;
    if (sched_getaffinity(getppid(), sizeof job, &job) != 0) DIE("cannot ask for CPUs");
    if (!CPU_ISSET(atoi(expected), &job))
      CPU_SET(atoi(expected), &its);  // not here
    else
      EQ(CPU_COUNT(&its), 1);
    CHECK(CPU_ISSET(atoi(expected), &its), "the thread of rank %d is not on CPU %s", rank,
          expected);
  }
  return finish();
}
