// SPDX-License-Identifier: Apache-2.0
// A page that all ranks share, by which they tell each other, not by messages, that rank 0 stays
// away from MPI and that others have got what it began.
#ifndef WEFT_TESTS_RANK_PROGRESS_PAGE_H
#define WEFT_TESTS_RANK_PROGRESS_PAGE_H

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

enum { most_seconds = 20 };

struct Page {
  atomic_int away, arrived;
};
static struct Page* page;

static void open_page(void) {
  char name[] = "/tmp/weft-away-XXXXXX";
  int fd = -1;
  if (rank == 0) {
    fd = mkstemp(name);
    if (fd < 0 || ftruncate(fd, sizeof *page) != 0) DIE("cannot make %s", name);
  }
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  if (rank != 0) fd = open(name, O_RDWR);
  if (fd < 0) DIE("cannot open %s", name);
  page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) DIE("cannot map %s", name);
  close(fd);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) unlink(name);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Without MPI, until `word` is at least `value`.
static int wait_for(atomic_int* word, int value) {
  const double end = now() + most_seconds;
  while (atomic_load(word) < value && now() < end) sched_yield();
  return atomic_load(word) >= value;
}

static void begin_round(void) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    atomic_store(&page->away, 0);
    atomic_store(&page->arrived, 0);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Rank 0, from the last call that begins something to the first that completes it.
static void stay_away(const char* what) {
  atomic_store(&page->away, 1);
  CHECK(wait_for(&page->arrived, size - 1), "%s: %d of %d ranks have it while rank 0 is away", what,
        atomic_load(&page->arrived), size - 1);
}
static void until_away(void) {
  CHECK(wait_for(&page->away, 1), "rank 0 does not begin");
}
static void arrive(void) {
  atomic_fetch_add(&page->arrived, 1);
}

#endif
