// SPDX-License-Identifier: Apache-2.0
// Where the kernel lets each rank's progress thread run: on the CPUs of the argument ("0"), within
// those of its rank ("here"), or nowhere, because there is none ("none").
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include "../check.h"

/// Of the thread of this rank; 0: there is none.
static long find_thread(void) {
  char wanted[32], path[300], name[32];
  snprintf(wanted, sizeof wanted, "weft-prog.%d\n", rank);
  DIR* all = opendir("/proc/self/task");
  if (all == NULL) DIE("cannot look at threads");
  long found = 0;
  for (struct dirent* each; (each = readdir(all)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", each->d_name);
    FILE* file = fopen(path, "re");
    if (file == NULL) continue;
    if (fgets(name, sizeof name, file) != NULL && strcmp(name, wanted) == 0)
      found = atol(each->d_name);
    fclose(file);
  }
  closedir(all);
  return found;
}

int main(int argc, char** argv) {
  if (argc < 2) DIE("expected: none, here, or a CPU");
  start(&argc, &argv);
  const char* expected = argv[1];
  const long thread = find_thread();
  if (strcmp(expected, "none") == 0) {
    CHECK(thread == 0, "rank %d has a progress thread", rank);
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
