/* SPDX-License-Identifier: Apache-2.0 */
/* What one-sided communication costs. Rank 0 is the origin and the last rank the target, in a
   window of MPI_Win_allocate; the others wait in MPI_Barrier. Rows (see rows.h): put, get,
   accumulate   (sum of doubles) and MPI_Win_flush, in an epoch of MPI_Win_lock_all
   bare                   the same as put of 8 bytes without a library: a call that stores, and one
                          that lets no later load go before; no library can take less
   fetch_and_op           8 bytes and MPI_Win_flush
   counter                the same by all ranks on one counter of rank 0
   fence                  MPI_Win_fence by all ranks
   pscw                   post, start, put of 8 bytes, complete, wait; both ranks are both
   lock                   MPI_Win_lock (exclusive), put of 8 bytes, MPI_Win_unlock
   computing              put of 8 bytes and MPI_Win_flush while the target computes for 10 ms, then
                          the origin does: 10 ms if the target has no part in it, else 20 ms
   The first put of a size is read back and compared. */
#include "../rows.h"

#include <time.h>

enum { most_bytes = 4 << 20, computing_ms = 10 };

/* Two windows: one in an epoch of MPI_Win_lock_all, one for all other epochs. */
static struct {
  int open;
  MPI_Win passive, active;
  char *passive_memory, *active_memory;
  MPI_Group other;
} wins;

static int close_windows(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  MPI_Win_unlock_all(wins.passive);
  MPI_Win_free(&wins.passive);
  MPI_Win_free(&wins.active);
  MPI_Group_free(&wins.other);
  return MPI_SUCCESS;
}

/* All ranks call it first in the same row. MPI_Finalize closes them. */
static void open_windows(const struct bench* b) {
  if (wins.open) return;
  wins.open = 1;
  MPI_Win_allocate(most_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins.passive_memory,
                   &wins.passive);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins.active_memory, &wins.active);
  memset(wins.passive_memory, 0, most_bytes);
  memset(wins.active_memory, 0, 64);
  MPI_Group world;
  const int other = b->size - 1 - b->rank;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &other, &wins.other);
  MPI_Group_free(&world);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, wins.passive);
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_windows, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  MPI_Comm_free_keyval(&keyval);
}

static long words_of(const struct bench* b) {
  return b->bytes / (long)sizeof(uint64_t);
}

static void put(struct bench* b) {
  open_windows(b);
  if (b->rank != 0) return;
  const int to = b->size - 1;
  if (!b->untouched) stamp_lines(b->data[0], words_of(b), ++b->stamp);
  MPI_Put(b->data[0], (int)b->bytes, MPI_BYTE, to, 0, (int)b->bytes, MPI_BYTE, wins.passive);
  MPI_Win_flush(to, wins.passive);
  if (b->stamp != 1) return;
  MPI_Get(b->result, (int)b->bytes, MPI_BYTE, to, 0, (int)b->bytes, MPI_BYTE, wins.passive);
  MPI_Win_flush(to, wins.passive);
  b->errors += wrong_lines((uint64_t*)b->result, words_of(b), b->stamp);
}

static __attribute__((noinline)) void store_bare(uint64_t* to, const uint64_t* from) {
  __atomic_store_n(to, *from, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void fence_bare(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void bare(struct bench* b) {
  if (b->rank != 0) return;
  uint64_t* data = b->data[0];
  if (!b->untouched) stamp_lines(data, words_of(b), ++b->stamp);
  store_bare((uint64_t*)b->result, data);
  fence_bare();
  if (*(uint64_t*)b->result != *data) ++b->errors;
}

/* The first one is put back and read again. */
static void get(struct bench* b) {
  open_windows(b);
  if (b->rank != 0) return;
  const int from = b->size - 1;
  uint64_t* data = b->data[0];
  MPI_Get(data, (int)b->bytes, MPI_BYTE, from, 0, (int)b->bytes, MPI_BYTE, wins.passive);
  MPI_Win_flush(from, wins.passive);
  if (b->stamp++ != 0) return;
  memcpy(b->result, data, (size_t)b->bytes);
  stamp_lines(data, words_of(b), UINT64_MAX);
  MPI_Put(b->result, (int)b->bytes, MPI_BYTE, from, 0, (int)b->bytes, MPI_BYTE, wins.passive);
  MPI_Win_flush(from, wins.passive);
  MPI_Get(data, (int)b->bytes, MPI_BYTE, from, 0, (int)b->bytes, MPI_BYTE, wins.passive);
  MPI_Win_flush(from, wins.passive);
  if (memcmp(data, b->result, (size_t)b->bytes) != 0) ++b->errors;
}

static void accumulate(struct bench* b) {
  open_windows(b);
  if (b->rank != 0) return;
  const int to = b->size - 1;
  MPI_Accumulate(b->data[0], b->count, MPI_DOUBLE, to, 0, b->count, MPI_DOUBLE, MPI_SUM,
                 wins.passive);
  MPI_Win_flush(to, wins.passive);
}

static void add_one(struct bench* b, int to) {
  const int64_t one = 1;
  int64_t old = -1;
  MPI_Fetch_and_op(&one, &old, MPI_INT64_T, to, most_bytes - 64, MPI_SUM, wins.passive);
  MPI_Win_flush(to, wins.passive);
  if (old < (int64_t)b->stamp) ++b->errors; /* it grows */
  b->stamp = (uint64_t)old + 1;
}

static void fetch_and_op(struct bench* b) {
  open_windows(b);
  if (b->rank == 0) add_one(b, b->size - 1);
}

static void counter(struct bench* b) {
  open_windows(b);
  add_one(b, 0);
}

static void fence(struct bench* b) {
  open_windows(b);
  MPI_Win_fence(0, wins.active);
}

static void pscw(struct bench* b) {
  open_windows(b);
  const int other = b->size - 1 - b->rank;
  const uint64_t stamp = ++b->stamp;
  MPI_Win_post(wins.other, 0, wins.active);
  MPI_Win_start(wins.other, 0, wins.active);
  MPI_Put(&stamp, sizeof stamp, MPI_BYTE, other, 0, sizeof stamp, MPI_BYTE, wins.active);
  MPI_Win_complete(wins.active);
  MPI_Win_wait(wins.active);
  if (memcmp(wins.active_memory, &stamp, sizeof stamp) != 0) ++b->errors;
}

static void lock(struct bench* b) {
  open_windows(b);
  if (b->rank != 0) return;
  const int to = b->size - 1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, wins.active);
  MPI_Put(b->data[0], 8, MPI_BYTE, to, 8, 8, MPI_BYTE, wins.active);
  MPI_Win_unlock(to, wins.active);
}

/* Without a look at MPI. */
static void compute(void) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
         computing_ms);
}

static void computing(struct bench* b) {
  open_windows(b);
  const int to = b->size - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (b->rank == 0) {
    MPI_Put(b->data[0], 8, MPI_BYTE, to, 0, 8, MPI_BYTE, wins.passive);
    MPI_Win_flush(to, wins.passive);
  }
  if (b->rank == 0 || b->rank == to) compute();
}

static const struct row rows[] = {
    {.name = "put",
     .op = put,
     .window = 1,
     .per_op = 1,
     .element = 1,
     .bytes = {8, 64, 1024, 16384, 65536, 262144, 1 << 20, 4 << 20}},
    {.name = "get",
     .op = get,
     .window = 1,
     .per_op = 1,
     .element = 1,
     .bytes = {8, 64, 1024, 16384, 65536, 262144, 1 << 20, 4 << 20}},
    {.name = "accumulate",
     .op = accumulate,
     .window = 1,
     .per_op = 1,
     .element = 8,
     .bytes = {8, 64, 1024, 16384, 65536, 262144, 1 << 20}},
    {.name = "bare", .op = bare, .window = 1, .per_op = 1, .element = 8, .bytes = {8}},
    {.name = "fetch_and_op",
     .op = fetch_and_op,
     .window = 1,
     .per_op = 1,
     .element = 8,
     .bytes = {8}},
    {.name = "counter", .op = counter, .window = 1, .per_op = 1, .element = 8, .bytes = {8}},
    {.name = "fence", .op = fence, .window = 1, .per_op = 1, .element = 8, .bytes = {8}},
    {.name = "pscw", .op = pscw, .ranks = 2, .window = 1, .per_op = 1, .element = 8, .bytes = {8}},
    {.name = "lock", .op = lock, .window = 1, .per_op = 1, .element = 8, .bytes = {8}},
    {.name = "computing",
     .op = computing,
     .ranks = 2,
     .window = 1,
     .per_op = 1,
     .element = 8,
     .bytes = {8}},
};

int main(int argc, char** argv) {
  return run_rows(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
