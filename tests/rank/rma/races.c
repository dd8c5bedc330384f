// SPDX-License-Identifier: Apache-2.0
// What WEFT_ABI_CHECK=full finds in one-sided communication: accesses that overlap, with both call
// sites; epochs that do not go together; posts without a start; what assertions promise. And what
// is legal, and nearly the same, is none.
#include "flavors.h"

static char text[MPI_MAX_ERROR_STRING];

static int class_of(int code) {
  int class = MPI_SUCCESS, length;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  return class;
}
static void says(const char* words) {
  CHECK(strstr(text, words) != NULL, "\"%s\" does not say \"%s\"", text, words);
}
#define CONFLICT(call, words)                 \
  do {                                        \
    EQ(class_of(call), MPI_ERR_RMA_CONFLICT); \
    says(words);                              \
  } while (0)

static MPI_Comm comm;
static Flavored f;
static int cell[8];

// One after the other: what rank 0 has done is known when rank 1 begins.
static void turn(void) {
  OK(MPI_Barrier(comm));
}

__attribute__((noinline)) static int put_by_this_one(int to, int at, int n) {
  return MPI_Put(cell, n, MPI_INT, to, f.bases[to] + at * (MPI_Aint)sizeof(int), n, MPI_INT, f.win);
}
__attribute__((noinline)) static int get_by_this_one(int to, int at, int n) {
  return MPI_Get(cell, n, MPI_INT, to, f.bases[to] + at * (MPI_Aint)sizeof(int), n, MPI_INT, f.win);
}
static int add(int to, int at, MPI_Datatype type) {
  static int one = 1;
  const int n = type == MPI_INT ? 1 : 4;
  return MPI_Accumulate(&one, n, type, to, f.bases[to] + at * (MPI_Aint)sizeof(int), n, type,
                        MPI_SUM, f.win);
}

// Rank 0 makes an access to the last rank, then rank 1 another.
static void both(int (*first)(int, int, int), int first_at, int (*second)(int, int, int), int at,
                 const char* words) {
  const int to = size - 1;
  if (rank == 0) OK(first(to, first_at, 2));
  turn();
  if (rank == 1) {
    if (words == NULL)
      OK(second(to, at, 2));
    else
      CONFLICT(second(to, at, 2), words);
  }
  turn();
}

static void in_fences(void) {
  OK(MPI_Win_fence(0, f.win));
  both(put_by_this_one, 0, put_by_this_one, 1, "by rank 0, called in put_by_this_one (races");
  if (rank == 1) {
    says("MPI_Put by rank 1, called in put_by_this_one (races");
    says("both access bytes ");
    says("in an epoch of MPI_Win_fence");
    says("window board");
  }
  both(get_by_this_one, 4, put_by_this_one, 4, "MPI_Get by rank 0, called in get_by_this_one");
  OK(MPI_Win_fence(0, f.win));
  both(put_by_this_one, 0, put_by_this_one, 2, NULL);  // beside each other
  both(get_by_this_one, 4, get_by_this_one, 4, NULL);
  OK(MPI_Win_fence(0, f.win));
  both(put_by_this_one, 4, get_by_this_one, 0, NULL);  // of an epoch before
  OK(MPI_Win_fence(0, f.win));

  const int to = size - 1;
  OK(add(to, 0, MPI_INT));
  turn();
  if (rank == 1) {
    CONFLICT(put_by_this_one(to, 0, 1), "MPI_Accumulate by rank");
    CONFLICT(get_by_this_one(to, 0, 1), "MPI_Accumulate by rank");
    CONFLICT(add(to, 0, MPI_SIGNED_CHAR), "elements of the same type");
  }
  OK(MPI_Win_fence(MPI_MODE_NOPUT, f.win));
  if (rank == 0) CONFLICT(put_by_this_one(to, 0, 1), "MPI_MODE_NOPUT");
  turn();
  OK(get_by_this_one(to, 0, 1));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
}

// Columns of one matrix: their bytes lie between each other, and are not the same.
static void columns(void) {
  MPI_Datatype column;
  OK(MPI_Type_vector(4, 1, 2, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  OK(MPI_Win_fence(0, f.win));
  const int to = size - 1;
  if (rank < 2)
    OK(MPI_Put(cell, 4, MPI_INT, to, f.bases[to] + rank * (MPI_Aint)sizeof(int), 1, column, f.win));
  turn();
  if (rank == 1) CONFLICT(put_by_this_one(to, 2, 1), "MPI_Put by rank 0");
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
  OK(MPI_Type_free(&column));
}

static void in_locks(void) {
  const int to = size - 1;
  OK(MPI_Win_lock_all(0, f.win));
  both(put_by_this_one, 0, put_by_this_one, 1, "in an epoch of MPI_Win_lock_all");
  if (rank == 0) OK(MPI_Win_flush(to, f.win));
  turn();
  if (rank == 1) OK(put_by_this_one(to, 0, 2));  // it is over
  if (rank == 1) OK(MPI_Win_flush_all(f.win));
  turn();
  if (rank == 0) {
    OK(get_by_this_one(to, 0, 2));
    OK(MPI_Win_flush_local(to, f.win));
  }
  turn();
  if (rank == 1) OK(put_by_this_one(to, 0, 2));  // the get has its data
  turn();
  if (rank == 0) {
    MPI_Request request;
    OK(MPI_Rget(cell, 1, MPI_INT, to, f.bases[to] + 5 * (MPI_Aint)sizeof(int), 1, MPI_INT, f.win,
                &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  turn();
  if (rank == 1) OK(put_by_this_one(to, 5, 1));
  OK(MPI_Win_unlock_all(f.win));
  // Alone, one after the other.
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, f.win));
  OK(put_by_this_one(to, 0, 2));
  OK(MPI_Win_unlock(to, f.win));
  turn();
  OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, f.win));
  if (rank == 0) OK(put_by_this_one(to, 0, 1));
  turn();
  if (rank == 1) CONFLICT(get_by_this_one(to, 0, 1), "in an epoch of MPI_Win_lock");
  turn();
  OK(MPI_Win_unlock(to, f.win));
}

static MPI_Group group_of(int first, int n) {
  MPI_Group all, some;
  int ranks[64];
  for (int i = 0; i < n; ++i) ranks[i] = first + i;
  OK(MPI_Win_get_group(f.win, &all));
  OK(MPI_Group_incl(all, n, ranks, &some));
  OK(MPI_Group_free(&all));
  return some;
}

static void in_groups(void) {
  MPI_Group origins = group_of(0, 2), target = group_of(size - 1, 1);
  for (int round = 0; round < 2; ++round) {
    if (rank == size - 1) OK(MPI_Win_post(origins, round == 1 ? MPI_MODE_NOPUT : 0, f.win));
    if (rank < 2) OK(MPI_Win_start(target, 0, f.win));
    turn();
    if (round == 0)
      both(put_by_this_one, 0, get_by_this_one, 1, "in an epoch of MPI_Win_start");
    else if (rank == 0)
      CONFLICT(put_by_this_one(size - 1, 0, 1), "MPI_MODE_NOPUT");
    turn();
    if (rank < 2) OK(MPI_Win_complete(f.win));
    if (rank == size - 1) OK(MPI_Win_wait(f.win));
  }
  // Nothing of that is left; but what is posted must not be locked.
  if (rank == size - 1) OK(MPI_Win_post(origins, 0, f.win));
  turn();
  if (rank == 2 && size > 3) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, size - 1, 0, f.win));
    CONFLICT(put_by_this_one(size - 1, 0, 1), "has exposed it by MPI_Win_post");
    OK(MPI_Win_unlock(size - 1, f.win));
  }
  turn();
  if (rank < 2) {
    OK(MPI_Win_start(target, 0, f.win));
    OK(put_by_this_one(size - 1, rank, 1));
    OK(MPI_Win_complete(f.win));
  }
  if (rank == size - 1) OK(MPI_Win_wait(f.win));
  OK(MPI_Group_free(&origins));
  OK(MPI_Group_free(&target));
}

// A post for rank 0, which goes on to a fence: rank 0 learns it.
static void unmatched(void) {
  MPI_Group first = group_of(0, 1), last = group_of(size - 1, 1);
  if (rank == size - 1) OK(MPI_Win_post(first, 0, f.win));
  turn();
  if (rank == 0) {
    if (node_count() > 1) OK(MPI_Win_sync(f.win));
    EQ(class_of(MPI_Win_fence(0, f.win)), MPI_ERR_RMA_SYNC);
    says("their groups do not fit");
    OK(MPI_Win_start(last, 0, f.win));
    OK(MPI_Win_complete(f.win));
  }
  if (rank == size - 1) OK(MPI_Win_wait(f.win));
  turn();
  if (node_count() == 1 && rank == 0) {
    EQ(class_of(MPI_Win_start(last, MPI_MODE_NOCHECK, f.win)), MPI_ERR_RMA_SYNC);
    says("has not called MPI_Win_post");
  }
  OK(MPI_Group_free(&first));
  OK(MPI_Group_free(&last));
}

// Assertions that all have to pass, and a lock that another rank holds.
static void assertions(void) {
  turn();
  if (node_count() == 1) {
    const int code = MPI_Win_fence(rank == 0 ? MPI_MODE_NOSUCCEED : 0, f.win);
    if (rank == 0) {
      EQ(class_of(code), MPI_ERR_RMA_SYNC);
      says("MPI_MODE_NOSUCCEED");
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win);
    turn();
    if (rank == 0) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, f.win));
    turn();
    if (rank == 1)
      CONFLICT(MPI_Win_lock(MPI_LOCK_SHARED, size - 1, MPI_MODE_NOCHECK, f.win),
               "rank 0 holds the lock");
    turn();
    if (rank == 0) OK(MPI_Win_unlock(size - 1, f.win));
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int which = 0; size > 2 && which < flavors; ++which) {
    f = open_window(which, 64);
    OK(MPI_Win_set_name(f.win, "board"));
    OK(MPI_Win_set_errhandler(f.win, MPI_ERRORS_RETURN));
    in_fences();
    columns();
    in_locks();
    in_groups();
    unmatched();
    assertions();
    close_window(&f);
  }
  CHECK(1, "nothing is compared among fewer than three ranks");
  OK(MPI_Comm_free(&comm));
  return finish();
}
