// SPDX-License-Identifier: Apache-2.0
// What is different with targets on other nodes (and has to hold on one): locks and atomics of
// ranks of both kinds at once, operations of all lengths and types before one flush, more of them
// than there is room for, requests that complete later, types that are freed meanwhile.
#include "flavors.h"

// Every rank adds to one counter of each other, by atomics and by exclusive locks.
static void mixed(int which) {
  Flavored f = open_window(which, 4 * sizeof(long));
  enum { rounds = 40 };
  const long one = 1;
  long last[64];
  for (int to = 0; to < size; ++to) last[to] = -1;
  OK(MPI_Win_lock_all(0, f.win));
  for (int i = 0; i < rounds; ++i)
    for (int to = 0; to < size; ++to) {
      long old = -1;
      OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, to, f.bases[to], MPI_SUM, f.win));
      OK(MPI_Accumulate(&one, 1, MPI_LONG, to, f.bases[to] + 8, 1, MPI_LONG, MPI_SUM, f.win));
      OK(MPI_Win_flush_local(to, f.win));
      CHECK(old > last[to], "%ld after %ld", old, last[to]);
      last[to] = old;
    }
  OK(MPI_Win_unlock_all(f.win));
  for (int i = 0; i < rounds; ++i)
    for (int to = 0; to < size; ++to) {
      long value = -1;
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, f.win));
      OK(MPI_Get(&value, 1, MPI_LONG, to, f.bases[to] + 16, 1, MPI_LONG, f.win));
      OK(MPI_Win_flush(to, f.win));
      ++value;
      OK(MPI_Put(&value, 1, MPI_LONG, to, f.bases[to] + 16, 1, MPI_LONG, f.win));
      OK(MPI_Win_unlock(to, f.win));
    }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) EQ(((long*)f.memory)[i], (long)rounds * size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

// Many puts of all lengths, then gets of them, before one flush each.
static void many(int which) {
  enum { count = 300, slot = 5000 };
  const MPI_Aint bytes = (MPI_Aint)count * slot;
  Flavored f = open_window(which, bytes);
  unsigned char* mine = alloc((size_t)bytes);
  unsigned char* back = alloc((size_t)bytes);
  const int to = right_of(rank);
  for (MPI_Aint i = 0; i < bytes; ++i) mine[i] = (unsigned char)(i * 7 + rank + i / slot);
  memset(back, 0, (size_t)bytes);
  MPI_Datatype every_other;
  OK(MPI_Type_vector(slot / 2, 1, 2, MPI_BYTE, &every_other));
  OK(MPI_Type_commit(&every_other));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, f.win));
  for (int i = 0; i < count; ++i) {
    const int n = 1 + i * i % slot;
    const MPI_Aint at = f.bases[to] + (MPI_Aint)i * slot;
    if (i % 3 == 0)
      OK(MPI_Put(mine + i * slot, 1, every_other, to, at, 1, every_other, f.win));
    else
      OK(MPI_Put(mine + i * slot, n, MPI_BYTE, to, at, n, MPI_BYTE, f.win));
  }
  OK(MPI_Win_flush(to, f.win));
  for (int i = 0; i < count; ++i) {
    const int n = 1 + i * i % slot;
    const MPI_Aint at = f.bases[to] + (MPI_Aint)i * slot;
    if (i % 3 == 0)
      OK(MPI_Get(back + i * slot, 1, every_other, to, at, 1, every_other, f.win));
    else
      OK(MPI_Get(back + i * slot, n, MPI_BYTE, to, at, n, MPI_BYTE, f.win));
  }
  OK(MPI_Type_free(&every_other));
  OK(MPI_Win_unlock(to, f.win));
  long wrong = 0;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < slot; ++j) {
      const int n = 1 + i * i % slot;
      const int there = i % 3 == 0 ? j % 2 == 0 : j < n;
      wrong += back[i * slot + j] != (there ? mine[i * slot + j] : 0);
    }
  EQ(wrong, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  free(mine);
  free(back);
  close_window(&f);
}

// Long operations with requests, several at once, between all pairs.
static void requests(int which) {
  enum { ints = 100000 };
  Flavored f = open_window(which, (MPI_Aint)size * ints * (MPI_Aint)sizeof(int));
  int* mine = alloc((size_t)size * ints * sizeof(int));
  int* back = alloc((size_t)size * ints * sizeof(int));
  MPI_Request* all = alloc((size_t)size * sizeof *all);
  for (int i = 0; i < size * ints; ++i) mine[i] = i ^ (rank << 20);
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, f.win));
  for (int to = 0; to < size; ++to)
    OK(MPI_Rput(mine + to * ints, ints, MPI_INT, to, f.bases[to] + (MPI_Aint)rank * ints * 4, ints,
                MPI_INT, f.win, &all[to]));
  OK(MPI_Waitall(size, all, MPI_STATUSES_IGNORE));
  OK(MPI_Win_flush_all(f.win));
  for (int to = 0; to < size; ++to)
    OK(MPI_Rget(back + to * ints, ints, MPI_INT, to, f.bases[to] + (MPI_Aint)rank * ints * 4, ints,
                MPI_INT, f.win, &all[to]));
  OK(MPI_Waitall(size, all, MPI_STATUSES_IGNORE));
  EQ(memcmp(mine, back, (size_t)size * ints * sizeof(int)), 0);
  for (int to = 0; to < size; ++to)
    OK(MPI_Rget_accumulate(mine + to * ints, ints, MPI_INT, back + to * ints, ints, MPI_INT, to,
                           f.bases[to] + (MPI_Aint)rank * ints * 4, ints, MPI_INT, MPI_BXOR, f.win,
                           &all[to]));
  for (int done = 0; done < size; ++done) {
    int index = -1;
    OK(MPI_Waitany(size, all, &index, MPI_STATUS_IGNORE));
    EQ(memcmp(mine + index * ints, back + index * ints, ints * sizeof(int)), 0);
  }
  OK(MPI_Win_unlock_all(f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  long wrong = 0;
  for (int i = 0; i < size * ints; ++i) wrong += ((int*)f.memory)[i] != 0;
  EQ(wrong, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  free(mine);
  free(back);
  free(all);
  close_window(&f);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int which = 0; which < flavors; ++which) {
    mixed(which);
    many(which);
    requests(which);
  }
  return finish();
}
