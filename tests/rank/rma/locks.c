// SPDX-License-Identifier: Apache-2.0
// Passive targets: locks exclude each other, lock_all with atomic operations, operations with
// requests, and targets that compute.
#include <time.h>

#include "flavors.h"

// A counter that is read and written under an exclusive lock loses nothing.
static void exclusive(int which) {
  Flavored f = open_window(which, sizeof(long));
  const int rounds = 200;
  for (int i = 0; i < rounds; ++i) {
    const int to = i % size;
    long value = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, f.win));
    OK(MPI_Get(&value, 1, MPI_LONG, to, f.bases[to], 1, MPI_LONG, f.win));
    OK(MPI_Win_flush(to, f.win));
    ++value;
    OK(MPI_Put(&value, 1, MPI_LONG, to, f.bases[to], 1, MPI_LONG, f.win));
    OK(MPI_Win_unlock(to, f.win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int first = rounds / size + (rank < rounds % size);
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, f.win));
  EQ(*(long*)f.memory, (long)size * first);
  OK(MPI_Win_unlock(rank, f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

// Two words that writers change one after the other are the same to readers.
static void readers(int which) {
  Flavored f = open_window(which, 2 * sizeof(long));
  for (int i = 0; i < 100; ++i) {
    long words[2];
    if ((i + rank) % 3 == 0) {
      words[0] = words[1] = 1000 * i + rank;
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, f.win));
      OK(MPI_Put(&words[0], 1, MPI_LONG, 0, f.bases[0], 1, MPI_LONG, f.win));
      OK(MPI_Put(&words[1], 1, MPI_LONG, 0, f.bases[0] + (int)sizeof(long), 1, MPI_LONG, f.win));
      OK(MPI_Win_unlock(0, f.win));
    } else {
      words[0] = 1, words[1] = 2;
      OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, f.win));
      OK(MPI_Get(words, 2, MPI_LONG, 0, f.bases[0], 2, MPI_LONG, f.win));
      OK(MPI_Win_unlock(0, f.win));
      EQ(words[0], words[1]);
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

// Tickets, a lock made of compare and swap, and operations with requests.
static void lock_all(int which) {
  Flavored f = open_window(which, 4 * sizeof(long));
  const int rounds = 100;
  const long one = 1, none = 0;
  long last = -1;
  OK(MPI_Win_lock_all(0, f.win));
  for (int i = 0; i < rounds; ++i) {
    long ticket = -1;
    OK(MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, f.bases[0], MPI_SUM, f.win));
    OK(MPI_Win_flush(0, f.win));
    CHECK(ticket > last, "ticket %ld after %ld", ticket, last);
    last = ticket;
    long old = 1;
    while (old != 0) {
      OK(MPI_Compare_and_swap(&one, &none, &old, MPI_LONG, 0, f.bases[0] + 8, f.win));
      OK(MPI_Win_flush(0, f.win));
    }
    long value;
    OK(MPI_Get(&value, 1, MPI_LONG, 0, f.bases[0] + 16, 1, MPI_LONG, f.win));
    OK(MPI_Win_flush(0, f.win));
    ++value;
    OK(MPI_Put(&value, 1, MPI_LONG, 0, f.bases[0] + 16, 1, MPI_LONG, f.win));
    OK(MPI_Win_flush(0, f.win));
    OK(MPI_Accumulate(&none, 1, MPI_LONG, 0, f.bases[0] + 8, 1, MPI_LONG, MPI_REPLACE, f.win));
    OK(MPI_Win_flush_local(0, f.win));
  }
  OK(MPI_Win_flush_all(f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  long words[3] = {0};
  MPI_Request request;
  OK(MPI_Rget(words, 3, MPI_LONG, 0, f.bases[0], 3, MPI_LONG, f.win, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(words[0], (long)rounds * size);
  EQ(words[1], 0);
  EQ(words[2], (long)rounds * size);
  OK(MPI_Barrier(MPI_COMM_WORLD));

  MPI_Request requests[3];
  long old = -1;
  const int to = right_of(rank);
  OK(MPI_Rput(&last, 1, MPI_LONG, to, f.bases[to] + 24, 1, MPI_LONG, f.win, &requests[0]));
  OK(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Win_flush(to, f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Raccumulate(&one, 1, MPI_LONG, to, f.bases[to] + 24, 1, MPI_LONG, MPI_SUM, f.win,
                     &requests[0]));
  OK(MPI_Rget_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, to, f.bases[to] + 24, 1, MPI_LONG,
                         MPI_SUM, f.win, &requests[1]));
  requests[2] = MPI_REQUEST_NULL;
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  EQ(old, last + 1);
  OK(MPI_Win_flush_local_all(f.win));
  OK(MPI_Win_unlock_all(f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

// What others may be writing.
static int now_in(const int* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

// Rank 0 calls nothing until the others' words are there: they need no help.
static void computing_target(int which) {
  Flavored f = open_window(which, size * (MPI_Aint)sizeof(int));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    const time_t end = time(NULL) + 20;
    for (int i = 1; i < size; ++i) {
      int* word = (int*)f.memory + i;
      while (now_in(word) != 2 * i && time(NULL) < end)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
      EQ(now_in(word), 2 * i);
    }
  } else {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, f.win));
    const MPI_Aint at = f.bases[0] + rank * (int)sizeof(int);
    OK(MPI_Put(&rank, 1, MPI_INT, 0, at, 1, MPI_INT, f.win));
    OK(MPI_Win_flush(0, f.win));
    OK(MPI_Accumulate(&rank, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_SUM, f.win));
    OK(MPI_Win_unlock(0, f.win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

// A rank looks at its own memory until another one has written it, with MPI_Win_sync only.
static void polling(int which) {
  Flavored f = open_window(which, sizeof(int));
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, f.win));
  const int to = right_of(rank), one = 1;
  if (rank > 0)
    while (now_in((int*)f.memory) == 0) OK(MPI_Win_sync(f.win));
  OK(MPI_Put(&one, 1, MPI_INT, to, f.bases[to], 1, MPI_INT, f.win));
  OK(MPI_Win_flush(to, f.win));
  while (now_in((int*)f.memory) == 0) OK(MPI_Win_sync(f.win));
  OK(MPI_Win_unlock_all(f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

/* Ranks 0 and 2 each want a target alone that rank 1 (3) has, which then wants the other one. */
static void crossing(int which) {
  if (size < 4 || node_count() > 1) return;
  Flavored f = open_window(which, sizeof(long));
  long value = 0;
  *(long*)f.memory = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1 || rank == 3) {
    const int first = rank - 1, second = 2 - first;
    const struct timespec a_while = {0, 20000000};
    OK(MPI_Win_lock_all(0, f.win));
    OK(MPI_Get(&value, 1, MPI_LONG, first, f.bases[first], 1, MPI_LONG, f.win));
    OK(MPI_Send(NULL, 0, MPI_BYTE, first, 0, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, 4 - rank, 0, NULL, 0, MPI_BYTE, 4 - rank, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    nanosleep(&a_while, NULL); /* they wait now */
    OK(MPI_Get(&value, 1, MPI_LONG, second, f.bases[second], 1, MPI_LONG, f.win));
    OK(MPI_Win_unlock_all(f.win));
  } else if (rank == 0 || rank == 2) {
    OK(MPI_Recv(NULL, 0, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    value = 1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, f.win));
    OK(MPI_Put(&value, 1, MPI_LONG, rank, f.bases[rank], 1, MPI_LONG, f.win));
    OK(MPI_Win_unlock(rank, f.win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  EQ(*(long*)f.memory, (long)(rank == 0 || rank == 2));
  close_window(&f);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int which = 0; which < flavors; ++which) {
    exclusive(which);
    readers(which);
    lock_all(which);
    if (targets_may_compute()) computing_target(which);
    polling(which);
    crossing(which);
  }
  return finish();
}
