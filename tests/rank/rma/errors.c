// SPDX-License-Identifier: Apache-2.0
// What one-sided communication refuses: its class, what the sentence names, and that the window
// goes on working.
#include "flavors.h"

static char text[MPI_MAX_ERROR_STRING];

static int class_of(int code) {
  int class = MPI_SUCCESS, length;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  return class;
}
#define FAILS(call, cls, words)                                                    \
  do {                                                                             \
    EQ(class_of(call), cls);                                                       \
    CHECK(strstr(text, words) != NULL, "\"%s\" does not say \"%s\"", text, words); \
  } while (0)

// An operation that leaves the window. In a dynamic one of several nodes the target finds out, and
// the next synchronization says so.
#define LEAVES(call, words)                                                            \
  do {                                                                                 \
    int code = call;                                                                   \
    const char* said = words;                                                          \
    if (code == MPI_SUCCESS && f.flavor == MPI_WIN_FLAVOR_DYNAMIC && node_count() > 1) \
      code = MPI_Win_flush(to, f.win), said = "attached";                              \
    FAILS(code, MPI_ERR_RMA_RANGE, said);                                              \
  } while (0)

static void operation(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void epochs(int which) {
  Flavored f = open_window(which, 64);
  OK(MPI_Win_set_errhandler(f.win, MPI_ERRORS_RETURN));
  int value = 0;
  MPI_Request request;
  const MPI_Aint at = f.bases[0];
  MPI_Group none = MPI_GROUP_EMPTY;
  FAILS(MPI_Put(&value, 1, MPI_INT, 0, at, 1, MPI_INT, f.win), MPI_ERR_RMA_SYNC, "no access epoch");
  FAILS(MPI_Win_flush(0, f.win), MPI_ERR_RMA_SYNC, "no access epoch");
  FAILS(MPI_Win_unlock(0, f.win), MPI_ERR_RMA_SYNC, "not locked");
  FAILS(MPI_Win_unlock_all(f.win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all");
  FAILS(MPI_Win_complete(f.win), MPI_ERR_RMA_SYNC, "MPI_Win_start");
  FAILS(MPI_Win_wait(f.win), MPI_ERR_RMA_SYNC, "MPI_Win_post");
  FAILS(MPI_Win_lock(77, 0, 0, f.win), MPI_ERR_LOCKTYPE, "77");
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, f.win), MPI_ERR_RANK, "rank");
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, f.win), MPI_ERR_ASSERT, "NOCHECK");
  FAILS(MPI_Win_fence(1, f.win), MPI_ERR_ASSERT, "assert is 1");

  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, f.win));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, f.win), MPI_ERR_RMA_SYNC, "already");
  FAILS(MPI_Win_lock_all(0, f.win), MPI_ERR_RMA_SYNC, "MPI_Win_lock is open");
  FAILS(MPI_Win_fence(0, f.win), MPI_ERR_RMA_SYNC, "MPI_Win_lock is open");
  FAILS(MPI_Win_start(none, 0, f.win), MPI_ERR_RMA_SYNC, "MPI_Win_lock is open");
  FAILS(MPI_Win_free(&f.win), MPI_ERR_RMA_SYNC, "unlock");
  if (size > 1)
    FAILS(MPI_Put(&value, 1, MPI_INT, 1, f.bases[1], 1, MPI_INT, f.win), MPI_ERR_RMA_SYNC,
          "not locked");
  OK(MPI_Win_unlock(0, f.win));

  OK(MPI_Win_start(none, 0, f.win));
  FAILS(MPI_Put(&value, 1, MPI_INT, 0, at, 1, MPI_INT, f.win), MPI_ERR_RMA_SYNC, "MPI_Win_start");
  FAILS(MPI_Rput(&value, 1, MPI_INT, 0, at, 1, MPI_INT, f.win, &request), MPI_ERR_RMA_SYNC,
        "request");
  OK(MPI_Win_complete(f.win));
  OK(MPI_Win_post(none, 0, f.win));
  FAILS(MPI_Win_post(none, 0, f.win), MPI_ERR_RMA_SYNC, "MPI_Win_wait");
  OK(MPI_Win_wait(f.win));

  OK(MPI_Win_fence(0, f.win));
  OK(MPI_Put(&value, 1, MPI_INT, rank, f.bases[rank], 1, MPI_INT, f.win));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, f.win), MPI_ERR_RMA_SYNC, "MPI_Win_fence");
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, f.win));
  close_window(&f);
}

static void ranges(int which) {
  Flavored f = open_window(which, 64);
  OK(MPI_Win_set_errhandler(f.win, MPI_ERRORS_RETURN));
  const int to = right_of(rank);
  const MPI_Aint at = f.bases[to];
  int ints[32] = {0};
  float number = 0;
  OK(MPI_Win_lock_all(0, f.win));
  OK(MPI_Put(ints, 16, MPI_INT, to, at, 16, MPI_INT, f.win));
  LEAVES(MPI_Put(ints, 17, MPI_INT, to, at, 17, MPI_INT, f.win), "17 elements");
  LEAVES(MPI_Get(ints, 1, MPI_INT, to, at + 61, 1, MPI_INT, f.win), "MPI_INT");
  LEAVES(MPI_Accumulate(ints, 1, MPI_INT, to, at + 64, 1, MPI_INT, MPI_SUM, f.win),
         "leave the window");
  OK(MPI_Put(ints, 0, MPI_INT, to, at + 64, 0, MPI_INT, f.win));
  if (f.flavor != MPI_WIN_FLAVOR_DYNAMIC) {
    FAILS(MPI_Put(ints, 1, MPI_INT, to, -4, 1, MPI_INT, f.win), MPI_ERR_DISP, "-4");
    FAILS(MPI_Put(ints, 1, MPI_INT, to, INT64_MAX - 3, 1, MPI_INT, f.win), MPI_ERR_RMA_RANGE,
          "64 bytes");
  }
  MPI_Datatype wide, mixed;
  OK(MPI_Type_vector(2, 1, 16, MPI_INT, &wide));
  FAILS(MPI_Put(ints, 2, MPI_INT, to, at, 1, wide, f.win), MPI_ERR_TYPE, "MPI_Type_commit");
  OK(MPI_Type_commit(&wide));
  LEAVES(MPI_Put(ints, 2, MPI_INT, to, at, 1, wide, f.win), "derived");
  OK(MPI_Type_free(&wide));
  FAILS(MPI_Put(ints, 4, MPI_INT, to, at, 3, MPI_INT, f.win), MPI_ERR_TRUNCATE, "16 bytes");
  FAILS(MPI_Get(ints, 3, MPI_INT, to, at, 4, MPI_INT, f.win), MPI_ERR_TRUNCATE, "16 bytes");

  MPI_Op own;
  OK(MPI_Op_create(operation, 1, &own));
  FAILS(MPI_Accumulate(ints, 1, MPI_INT, to, at, 1, MPI_INT, own, f.win), MPI_ERR_OP, "predefined");
  OK(MPI_Op_free(&own));
  FAILS(MPI_Accumulate(&number, 1, MPI_FLOAT, to, at, 1, MPI_FLOAT, MPI_BAND, f.win), MPI_ERR_OP,
        "MPI_FLOAT");
  FAILS(MPI_Accumulate(&number, 1, MPI_FLOAT, to, at, 1, MPI_INT, MPI_SUM, f.win), MPI_ERR_TYPE,
        "origin_datatype");
  OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                            (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &mixed));
  OK(MPI_Type_commit(&mixed));
  FAILS(MPI_Accumulate(ints, 1, mixed, to, at, 1, mixed, MPI_SUM, f.win), MPI_ERR_TYPE,
        "different basic types");
  OK(MPI_Put(ints, 1, mixed, to, at, 1, mixed, f.win));
  OK(MPI_Type_free(&mixed));
  FAILS(MPI_Compare_and_swap(&number, &number, &number, MPI_FLOAT, to, at, f.win), MPI_ERR_TYPE,
        "MPI_FLOAT");
  FAILS(MPI_Put(ints, 1, MPI_INT, size, at, 1, MPI_INT, f.win), MPI_ERR_RANK, "target_rank");
  OK(MPI_Win_unlock_all(f.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  close_window(&f);
}

static void objects(void) {
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Win win = MPI_WIN_NULL;
  int value = 0, *memory;
  FAILS(MPI_Win_free(&win), MPI_ERR_WIN, "MPI_WIN_NULL");
  FAILS(MPI_Win_fence(0, win), MPI_ERR_WIN, "MPI_WIN_NULL");
  FAILS(MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE, "-1");
  FAILS(MPI_Win_create(&value, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP, "is 0");
  if (size > 1) {  // one of all passes nonsense
    const int code =
        MPI_Win_allocate(rank == 1 ? -8 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    EQ(class_of(code), MPI_ERR_SIZE);
    CHECK(strstr(text, rank == 1 ? "-8" : "rank 1") != NULL, "\"%s\"", text);
  }
  OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_attach(win, memory, 8), MPI_ERR_RMA_FLAVOR, "dynamic");
  MPI_Win gone = win;
  OK(MPI_Win_free(&win));
  FAILS(MPI_Win_fence(0, gone), MPI_ERR_WIN, "win");

  char bytes[100];
  MPI_Aint size_of;
  int unit;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_shared_query(win, 0, &size_of, &unit, &memory), MPI_ERR_RMA_FLAVOR, "dynamic");
  OK(MPI_Win_attach(win, bytes, 50));
  FAILS(MPI_Win_attach(win, bytes + 49, 1), MPI_ERR_RMA_ATTACH, "overlap");
  OK(MPI_Win_attach(win, bytes + 50, 50));
  FAILS(MPI_Win_detach(win, bytes + 1), MPI_ERR_RMA_ATTACH, "begins");
  MPI_Aint at;
  OK(MPI_Get_address(bytes, &at));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  char in[100] = {0};
  OK(MPI_Put(in, 100, MPI_CHAR, rank, at, 100, MPI_CHAR, win));  // both regions
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Win_detach(win, bytes));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  FAILS(MPI_Put(in, 1, MPI_CHAR, rank, at, 1, MPI_CHAR, win), MPI_ERR_RMA_RANGE, "attached");
  OK(MPI_Win_unlock(rank, win));
  // More regions than others can look up.
  static char regions[100][8];
  for (int i = 0; i < 100; ++i) OK(MPI_Win_attach(win, regions[i], 8));
  OK(MPI_Get_address(regions[99], &at));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  OK(MPI_Put(in, 8, MPI_CHAR, rank, at, 8, MPI_CHAR, win));
  OK(MPI_Win_unlock(rank, win));
  for (int i = 0; i < 100; ++i) OK(MPI_Win_detach(win, regions[i]));
  OK(MPI_Win_free(&win));

  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_locks", "true"));
  OK(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "no_locks");
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int which = 0; which < flavors; ++which) {
    epochs(which);
    ranges(which);
  }
  objects();
  return finish();
}
