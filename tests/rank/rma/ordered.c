// SPDX-License-Identifier: Apache-2.0
// Ranks in pairs count in each other's memory, by an operation that a flush or an unlock ends, and
// then load their own. What is loaded is later than what was written: if A's load after its number
// i misses B's number j, then B's load after j sees i.
#include <stdatomic.h>
#include <stdint.h>

#include "flavors.h"

enum { rounds = 100000, row = 8 };

static int64_t* memory;
static MPI_Win win;
static int64_t seen[rounds + 2], others[rounds + 2]; /* after each count; 0 is before the first */

static int put(int to, int64_t number) {
  return MPI_Put(&number, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, win);
}
static int replace_one(int to, int64_t number) {
  return MPI_Accumulate(&number, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, MPI_REPLACE, win);
}
static int replace_row(int to, int64_t number) {
  const int64_t numbers[row] = {number};
  return MPI_Accumulate(numbers, row, MPI_INT64_T, to, 0, row, MPI_INT64_T, MPI_REPLACE, win);
}
static int replace_bytes(int to, int64_t number) {
  return MPI_Accumulate(&number, 8, MPI_BYTE, to, 0, 8, MPI_BYTE, MPI_REPLACE, win);
}

/* CHECK and OK are fences. */
static void check(const char* what, int (*count)(int to, int64_t number), int locks) {
  const int to = rank ^ 1;
  int failed = 0;
  memset(memory, 0, sizeof *memory * row);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (!locks) OK(MPI_Win_lock_all(0, win));
  for (int64_t i = 1; i <= rounds; ++i) {
    if (locks) failed |= MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    failed |= count(to, i);
    failed |= locks ? MPI_Win_unlock(to, win) : MPI_Win_flush(to, win);
    seen[i] = atomic_load_explicit((_Atomic int64_t*)memory, memory_order_relaxed);
  }
  if (!locks) OK(MPI_Win_unlock_all(win));
  OK(MPI_Sendrecv(seen, rounds + 1, MPI_INT64_T, to, 0, others, rounds + 1, MPI_INT64_T, to, 0,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(failed, MPI_SUCCESS);
  EQ(*memory, rounds);
  int wrong = 0;
  for (int64_t i = 1; i <= rounds; ++i) {
    const int64_t missed = seen[i] + 1;
    wrong += missed <= rounds && others[missed] < i;
  }
  CHECK(wrong == 0, "%s: %d loads are older than what was written", what, wrong);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Win_allocate(sizeof *memory * row, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  check("put", put, 0);
  check("replace_one", replace_one, 0);
  check("replace_row", replace_row, 0);
  check("replace_bytes", replace_bytes, 0);
  check("put", put, 1);
  check("replace_row", replace_row, 1);
  OK(MPI_Win_free(&win));
  return finish();
}
