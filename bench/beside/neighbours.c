/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command beside busy neighbours: so many threads for each CPU, bound to it, which compute
   while the command says so (neighbours.h), and sleep else. They end with the command; and if this
   program ends first, or who has started it, so do they and the command.

     neighbours most command words... */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, sched_setaffinity */
#endif
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "neighbours.h"

struct seat {
  struct neighbours* all;
  int cpu;
  uint32_t number; /* of those of its CPU */
  struct neighbour* own;
};

static void* compute(void* argument) {
  const struct seat seat = *(struct seat*)argument;
  uint64_t seed = 1;
  cpu_set_t one;
  free(argument);
  CPU_ZERO(&one);
  CPU_SET(seat.cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  for (;;) {
    const uint32_t now = seat.all->to_a_cpu;
    if (seat.number < now) {
      seed = work(seed);
      seat.own->chunks += 1 + (seed == 0); /* depends on the work, so that it is done */
    } else {
      syscall(SYS_futex, &seat.all->to_a_cpu, FUTEX_WAIT, now, NULL, NULL, 0);
    }
  }
  return NULL;
}

static void fail(const char* what) {
  perror(what);
  exit(1);
}

/* In a file that others may open by the name in BENCH_NEIGHBOURS while this process lives. */
static struct neighbours* share(uint32_t cpus, uint32_t most) {
  const size_t bytes = sizeof(struct neighbours) + cpus * most * sizeof(struct neighbour);
  const int file = memfd_create("neighbours", MFD_CLOEXEC);
  char name[64];
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0) fail("neighbours: memory to share");
  struct neighbours* all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all == MAP_FAILED) fail("neighbours: memory to share");
  all->cpus = cpus;
  all->most = most;
  snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)getpid(), file);
  setenv("BENCH_NEIGHBOURS", name, 1);
  return all;
}

static void start(struct neighbours* all, const cpu_set_t* mask) {
  uint32_t at = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, mask)) continue;
    for (uint32_t number = 0; number < all->most; ++number) {
      struct seat* seat = malloc(sizeof *seat);
      pthread_t id;
      if (seat == NULL) fail("neighbours");
      *seat = (struct seat){all, cpu, number, &all->of[at++]};
      if (pthread_create(&id, NULL, compute, seat) != 0) fail("neighbours: a thread");
    }
  }
}

int main(int argc, char** argv) {
  cpu_set_t mask;
  int status;
  if (argc < 3 || atoi(argv[1]) < 1) {
    fprintf(stderr, "neighbours: most command words...\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sched_getaffinity(0, sizeof mask, &mask);
  struct neighbours* all = share((uint32_t)CPU_COUNT(&mask), (uint32_t)atoi(argv[1]));
  const pid_t command = fork();
  if (command < 0) fail("neighbours: fork");
  if (command == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(argv[2], argv + 2);
    fail(argv[2]);
  }
  start(all, &mask);
  while (waitpid(command, &status, 0) != command) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
