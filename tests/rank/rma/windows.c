// SPDX-License-Identifier: Apache-2.0
// Windows as objects: attributes, names, groups, hints, error handlers, keyvals, shared memory.
#include "flavors.h"

static int deleted, handled, handled_code;

static int on_delete(MPI_Win win, int keyval, void* value, void* extra) {
  (void)win, (void)keyval, (void)extra;
  deleted += *(int*)value;
  return MPI_SUCCESS;
}

static void on_error(MPI_Win* win, int* code, ...) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  OK(MPI_Win_get_name(*win, name, &length));
  CHECK(strcmp(name, "halo") == 0, "the handler got a window named %s", name);
  ++handled;
  MPI_Error_class(*code, &handled_code);
}

static void attributes(int which) {
  Flavored f = open_window(which, 100 + rank);
  const int dynamic = f.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  void* value;
  int flag;
  OK(MPI_Win_get_attr(f.win, MPI_WIN_BASE, &value, &flag));
  CHECK(flag && value == (dynamic ? MPI_BOTTOM : f.memory), "base is %p, expected %p", value,
        (void*)f.memory);
  OK(MPI_Win_get_attr(f.win, MPI_WIN_SIZE, &value, &flag));
  EQ(*(MPI_Aint*)value, dynamic ? 0 : 100 + rank);
  OK(MPI_Win_get_attr(f.win, MPI_WIN_DISP_UNIT, &value, &flag));
  EQ(*(int*)value, 1);
  OK(MPI_Win_get_attr(f.win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
  EQ(*(int*)value, f.flavor);
  OK(MPI_Win_get_attr(f.win, MPI_WIN_MODEL, &value, &flag));
  EQ(*(int*)value, MPI_WIN_UNIFIED);

  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  OK(MPI_Win_get_name(f.win, name, &length));
  EQ(length, 0);
  OK(MPI_Win_set_name(f.win, "halo"));
  OK(MPI_Win_get_name(f.win, name, &length));
  CHECK(length == 4 && strcmp(name, "halo") == 0, "the name is \"%s\"", name);

  MPI_Group group, world;
  int result;
  OK(MPI_Win_get_group(f.win, &group));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_compare(group, world, &result));
  EQ(result, MPI_IDENT);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&world));

  int keyval, mine = 7;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL));
  OK(MPI_Win_set_attr(f.win, keyval, &mine));
  OK(MPI_Win_get_attr(f.win, keyval, &value, &flag));
  CHECK(flag && value == &mine, "the attribute is %p", value);
  deleted = 0;
  OK(MPI_Win_delete_attr(f.win, keyval));
  EQ(deleted, 7);
  OK(MPI_Win_get_attr(f.win, keyval, &value, &flag));
  EQ(flag, 0);
  OK(MPI_Win_set_attr(f.win, keyval, &mine));
  OK(MPI_Win_free_keyval(&keyval));

  MPI_Errhandler handler, got;
  OK(MPI_Win_get_errhandler(f.win, &got));
  CHECK(got == MPI_ERRORS_ARE_FATAL, "the first handler is %p", (void*)got);
  OK(MPI_Win_create_errhandler(on_error, &handler));
  OK(MPI_Win_set_errhandler(f.win, handler));
  OK(MPI_Win_get_errhandler(f.win, &got));
  CHECK(got == handler, "the handler is %p, expected %p", (void*)got, (void*)handler);
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&handler));
  handled = 0;
  OK(MPI_Win_call_errhandler(f.win, MPI_ERR_RMA_CONFLICT));
  EQ(handled, 1);
  EQ(handled_code, MPI_ERR_RMA_CONFLICT);
  MPI_Win_unlock(rank, f.win);
  EQ(handled, 2);
  EQ(handled_code, MPI_ERR_RMA_SYNC);

  close_window(&f);
  EQ(deleted, 14);
}

static void hints(void) {
  MPI_Info info, used;
  MPI_Win win;
  int* memory;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "accumulate_ordering", "none"));
  OK(MPI_Info_set(info, "no_such_hint", "1"));
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Info_set(info, "same_size", "true"));
  OK(MPI_Win_set_info(win, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_get_info(win, &used));
  const char* const keys[] = {"accumulate_ordering", "same_size", "no_locks"};
  const char* const values[] = {"none", "true", "false"};
  char value[MPI_MAX_INFO_VAL];
  for (int i = 0; i < 3; ++i) {
    int flag, length = sizeof value;
    OK(MPI_Info_get_string(used, keys[i], &length, value, &flag));
    CHECK(flag && strcmp(value, values[i]) == 0, "%s is %s", keys[i], flag ? value : "not there");
  }
  int flag, length = 0;
  OK(MPI_Info_get_string(used, "no_such_hint", &length, value, &flag));
  EQ(flag, 0);
  OK(MPI_Info_free(&used));
  OK(MPI_Win_free(&win));
}

// Memory that all may load and store: one after the other, or each at a page.
static void shared(int apart) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
  const MPI_Aint count = rank == 1 ? 0 : 3 + rank;
  int* mine;
  MPI_Win win;
  OK(MPI_Win_allocate_shared(count * (MPI_Aint)sizeof(int), sizeof(int), info, MPI_COMM_WORLD,
                             &mine, &win));
  OK(MPI_Info_free(&info));
  for (int i = 0; i < count; ++i) mine[i] = 100 * rank + i;
  OK(MPI_Win_fence(0, win));
  int* next = NULL;
  for (int r = 0; r < size; ++r) {
    MPI_Aint bytes;
    int unit, *theirs;
    OK(MPI_Win_shared_query(win, r, &bytes, &unit, &theirs));
    const int expected = r == 1 ? 0 : 3 + r;
    EQ(bytes, expected * (int)sizeof(int));
    EQ(unit, sizeof(int));
    if (!apart && next != NULL) CHECK(theirs == next, "rank %d begins at %p", r, (void*)theirs);
    for (int i = 0; i < expected; ++i) EQ(theirs[i], 100 * r + i);
    next = theirs + expected;
  }
  MPI_Count bytes, unit;
  int* first;
  OK(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &bytes, &unit, &first));
  EQ(bytes, 3 * (int)sizeof(int));
  EQ(first[0], 0);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  OK(MPI_Win_free(&win));
}

// The communicator may go before the window; windows of parts are apart.
static void parts(void) {
  MPI_Comm half;
  MPI_Win win;
  int *memory, n, r;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
  OK(MPI_Comm_size(half, &n));
  OK(MPI_Comm_rank(half, &r));
  OK(MPI_Win_allocate(n * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, half, &memory, &win));
  OK(MPI_Comm_free(&half));
  OK(MPI_Win_fence(0, win));
  for (int to = 0; to < n; ++to) OK(MPI_Put(&rank, 1, MPI_INT, to, r, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int from = 0; from < n; ++from) {
    EQ(memory[from] % 2, rank % 2);
    if (from > 0) CHECK(memory[from] < memory[from - 1], "key order: %d", memory[from]);
  }
  OK(MPI_Win_free(&win));
}

// Windows of MPI_COMM_SELF are each rank's own, however many ranks make them at once.
static void own(void) {
  MPI_Win wins[4];
  int* memory[4];
  for (int i = 0; i < 4; ++i) {
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &memory[i],
                        &wins[i]));
    *memory[i] = 10 * rank + i;
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 4; ++i) {
    const int ten = 10;
    int old = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[i]));
    OK(MPI_Fetch_and_op(&ten, &old, MPI_INT, 0, 0, MPI_SUM, wins[i]));
    OK(MPI_Win_unlock(0, wins[i]));
    EQ(old, 10 * rank + i);
    EQ(*memory[i], 10 * rank + i + 10);
    OK(MPI_Win_free(&wins[i]));
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int which = 0; which < flavors; ++which) attributes(which);
  hints();
  if (node_count() == 1) {
    shared(0);
    shared(1);
  }
  parts();
  own();
  for (int i = 0; i < 300; ++i) {
    Flavored f = open_window(i, 1 << (i % 20));
    close_window(&f);
  }
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
  CHECK(strcmp(name, "MPI_WIN_NULL") == 0, "the null window is called %s", name);
  return finish();
}
