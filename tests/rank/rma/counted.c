// SPDX-License-Identifier: Apache-2.0
// What operations cost in messages, locks and looks, counted. On a node: none, none, and about one
// look a flush, however many threads there are. To another node: a put and its flush are one
// message there, so is what brings data back and its flush; a row of puts asks once; what is long
// and in one piece goes by the network's own reads and writes, once the origin knows where.
#include <pthread.h>

#include "../counter.h"
#include "flavors.h"

enum { rounds = 50, row = 7, threads = 4, long_bytes = 100000 };

static MPI_Win win;
static char* memory;

/* A rank on another node, or the next one. */
static int find_target(void) {
  MPI_Comm node;
  int here = 0, first = 0;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  OK(MPI_Comm_size(node, &here));
  OK(MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, node));
  OK(MPI_Comm_free(&node));
  return (first + here) % size; /* nodes have ranks in a row */
}

/* Messages of rounds of `puts` puts and a flush. */
static unsigned long long messages(int to, int puts) {
  const unsigned long long before = counted();
  long values[row];
  for (int i = 0; i < rounds; ++i) {
    for (int k = 0; k < puts; ++k) {
      values[k] = i * 100 + k;
      OK(MPI_Put(&values[k], 1, MPI_LONG, to, 8 * (rank * row + k), 1, MPI_LONG, win));
    }
    OK(MPI_Win_flush(to, win));
  }
  return counted() - before;
}

/* The same of what is answered by the data it brings: that says also that it is done. */
static unsigned long long messages_of_answered(int to) {
  const unsigned long long before = counted();
  const MPI_Aint at = 8 * (MPI_Aint)(rank * row);
  long one = 1, zero = 0, old[row];
  for (int i = 0; i < rounds; ++i) {
    OK(MPI_Fetch_and_op(&one, old, MPI_LONG, to, at, MPI_SUM, win));
    OK(MPI_Win_flush(to, win));
    OK(MPI_Get_accumulate(&one, 1, MPI_LONG, old, 1, MPI_LONG, to, at, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(to, win));
    OK(MPI_Compare_and_swap(&zero, &old[0], old, MPI_LONG, to, at, win));
    OK(MPI_Win_flush(to, win));
    OK(MPI_Get(old, row, MPI_LONG, to, at, row, MPI_LONG, win));
    OK(MPI_Win_flush(to, win));
  }
  return counted() - before;
}

static void count_messages(int to, int is_away) {
  open_counter("rma_messages", MPI_T_PVAR_CLASS_COUNTER);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* Others answer, too, and count that: one origin at a time. */
  for (int origin = 0; origin < size; ++origin) {
    if (rank == origin) {
      OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
      messages(to, 1); /* it learns */
      const unsigned long long alone = messages(to, 1);
      messages(to, row);
      const unsigned long long answered = messages_of_answered(to);
      const unsigned long long together = messages(to, row);
      OK(MPI_Win_unlock(to, win));
      EQ(alone, is_away ? rounds : 0);
      EQ(together, is_away ? rounds * row : 0);
      EQ(answered, is_away ? rounds * 4 : 0);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  for (int k = 0; k < row; ++k)
    for (int from = 0; from < size; ++from) {
      long value = 0;
      memcpy(&value, memory + 8 * (from * row + k), sizeof value);
      CHECK(value == (rounds - 1) * 100 + k || value == 0, "%ld from %d", value, from);
    }
  close_counter();
}

/* Windows come and go, and their memory with them. */
static void count_reached(int to, int is_away) {
  char* mine = alloc(long_bytes);
  char* back = alloc(long_bytes);
  open_counter("rma_reached", MPI_T_PVAR_CLASS_COUNTER);
  for (int which = 0; which < flavors; ++which) {
    Flavored f = open_window(which, (MPI_Aint)size * long_bytes);
    const MPI_Aint at = f.bases[to] + (MPI_Aint)rank * long_bytes;
    MPI_Datatype gaps;
    OK(MPI_Type_vector(long_bytes / 2, 1, 2, MPI_BYTE, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Win_lock_all(0, f.win));
    unsigned long long before = 0;
    for (int i = 0; i < 6; ++i) {
      for (int k = 0; k < long_bytes; ++k) mine[k] = (char)(k * 3 + i + rank);
      MPI_Request request;
      OK(MPI_Put(mine, long_bytes, MPI_BYTE, to, at, long_bytes, MPI_BYTE, f.win));
      OK(MPI_Win_flush(to, f.win));
      if (i == 0) before = counted(); /* the first one asks where the memory is */
      memset(back, 0, long_bytes);
      OK(MPI_Get(back, long_bytes, MPI_BYTE, to, at, long_bytes, MPI_BYTE, f.win));
      OK(MPI_Win_flush_local(to, f.win));
      EQ(memcmp(mine, back, long_bytes), 0);
      memset(back, 0, long_bytes);
      OK(MPI_Rget(back, long_bytes, MPI_BYTE, to, at, long_bytes, MPI_BYTE, f.win, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      EQ(memcmp(mine, back, long_bytes), 0);
      OK(MPI_Rput(mine + 1, long_bytes - 1, MPI_BYTE, to, at + 1, long_bytes - 1, MPI_BYTE, f.win,
                  &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Put(mine, 1, gaps, to, at, 1, gaps, f.win)); /* in packets */
      OK(MPI_Win_flush(to, f.win));
    }
    OK(MPI_Win_unlock_all(f.win));
    OK(MPI_Type_free(&gaps));
    const int can = is_away && f.flavor != MPI_WIN_FLAVOR_DYNAMIC;
    EQ(counted() - before, can ? 3 + 5 * 4 : 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    close_window(&f);
  }
  close_counter();
  free(mine);
  free(back);
}

/* Each thread puts to a place of its own, and flushes. Its value outlives it: the flush may come
 * later. */
static long given[threads];
static void* put_often(void* number) {
  const int me = *(int*)number, to = (rank + 1 + me) % size;
  for (int i = 0; i < rounds; ++i) {
    OK(MPI_Put(&given[me], 1, MPI_LONG, to, 8 * (rank * threads + me), 1, MPI_LONG, win));
  }
  return NULL;
}
static void* flush_often(void* number) {
  const int to = (rank + 1 + *(int*)number) % size;
  for (int i = 0; i < rounds; ++i) {
    put_often(number);
    OK(MPI_Win_flush(to, win));
  }
  return NULL;
}

static unsigned long long by_threads(const char* counter, int n, void* (*work)(void*)) {
  pthread_t all[threads];
  int numbers[threads];
  OK(MPI_Barrier(MPI_COMM_WORLD));
  open_counter(counter, MPI_T_PVAR_CLASS_COUNTER);
  for (int i = 0; i < n; ++i) {
    numbers[i] = i;
    pthread_create(&all[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < n; ++i) pthread_join(all[i], NULL);
  const unsigned long long value = counted();
  close_counter();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return value;
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int is_away = node_count() > 1, to = find_target();
  const MPI_Aint bytes = 8 * (MPI_Aint)size * (row > threads ? row : threads);
  OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  memset(memory, 0, (size_t)bytes);
  count_messages(to, is_away);
  count_reached(to, is_away);
  OK(MPI_Win_lock_all(0, win));
  by_threads("lock_taken", threads, put_often); /* each target is locked once */
  const unsigned long long read = by_threads("lock_taken", 0, put_often);
  const unsigned long long locks = by_threads("lock_taken", threads, put_often) - read;
  const unsigned long long one = by_threads("polls", 1, flush_often);
  const unsigned long long four = by_threads("polls", threads, flush_often);
  if (!is_away) {
    EQ(locks, 0);
    /* One each, and now and then one at the other contexts. */
    CHECK(one <= 2 * rounds, "%llu looks in %d flushes", one, rounds);
    CHECK(four <= 2 * rounds * threads, "%llu looks in %d flushes", four, rounds * threads);
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  return finish();
}
