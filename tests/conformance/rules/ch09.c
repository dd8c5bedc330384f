// SPDX-License-Identifier: Apache-2.0
// Chapters 9 to 11: errors and their handlers, the environment, info objects, the start.
#include "rules.h"

// --- 9.1, 9.2, 9.6
// ---------------------------------------------------------------------------------
static void version(void) {
  int major = -1, minor = -1, length = -1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
  OK(MPI_Get_version(&major, &minor));
  EQ(major, MPI_VERSION), EQ(minor, MPI_SUBVERSION);
  OK(MPI_Get_library_version(text, &length));
  EQ(length, strlen(text));
  OK(MPI_Get_processor_name(host, &length));
  EQ(length, strlen(host));
  CHECK(length > 0, "the processor has no name");
}

static void hardware_info(void) {
  MPI_Info info;
  int n = -1;
  OK(MPI_Get_hw_resource_info(&info));
  OK(MPI_Info_get_nkeys(info, &n));
  for (int i = 0; i < n; ++i) {
    char key[MPI_MAX_INFO_KEY], value[16] = "?";
    int length = sizeof value, flag = 0;
    OK(MPI_Info_get_nthkey(info, i, key));
    CHECK(strstr(key, "://") != NULL, "the resource '%s' is no URI", key);
    OK(MPI_Info_get_string(info, key, &length, value, &flag));
    CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0), "'%s' is '%s'", key,
          value);
  }
  OK(MPI_Info_free(&info));
}

static void memory(void) {
  char* room = NULL;
  OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &room));
  CHECK((uintptr_t)room % 16 == 0, "Alloc_mem gave %p", (void*)room);
  fill(room, 1000, 1);
  OK(MPI_Free_mem(room));
}

static void timers(void) {
  const double first = MPI_Wtime(), tick = MPI_Wtick();
  CHECK(tick > 0 && tick < 1, "Wtick is %g", tick);
  CHECK(MPI_Wtime() >= first, "Wtime goes back");
}

// --- 9.3: handlers
// ---------------------------------------------------------------------------------
static int handled, handled_code;
static MPI_Comm handled_comm;
static void note(MPI_Comm* on, int* code, ...) {
  ++handled;
  handled_code = *code;
  handled_comm = *on;
}

static void inherited(void) {
  MPI_Comm copy, part, made;
  MPI_Errhandler handler, got;
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_split(comm, 0, 0, &part));
  MPI_Group group;
  OK(MPI_Comm_group(comm, &group));
  OK(MPI_Comm_create(comm, group, &made));
  OK(MPI_Group_free(&group));
  MPI_Comm all[3] = {copy, part, made};
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Comm_get_errhandler(all[i], &got));
    CHECK(got == handler, "new communicator %d has another error handler", i);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Comm_free(&all[i]));
  }
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Errhandler_free(&handler));
}

static void handler_called(void) {
  MPI_Errhandler handler;
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL, "Errhandler_free left the handle as it was");
  handled = 0;
  const int code = MPI_Send(NULL, -1, MPI_INT, right, 0, comm);  // it lives while it is set
  EQ(handled, 1), EQ(handled_code, code);
  CHECK(handled_comm == comm, "the handler got another communicator");
  FAILS(code, MPI_ERR_COUNT);
  OK(MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY));
  EQ(handled, 2), EQ(handled_code, MPI_ERR_TOPOLOGY);
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
}

static void handler_reference(void) {
  MPI_Errhandler handler, got;
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_get_errhandler(comm, &got));  // a reference of its own
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(comm, got));  // still alive
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_get_errhandler(comm, &got));
  CHECK(got == MPI_ERRORS_RETURN, "the handler is not MPI_ERRORS_RETURN");
  OK(MPI_Errhandler_free(&got));
}

static void without_comm(void) {
  MPI_Errhandler handler, before;
  OK(MPI_Comm_create_errhandler(note, &handler));
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  handled = 0;
  MPI_Datatype type;
  CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) != MPI_SUCCESS, "a count of -1 is taken");
  EQ(handled, 1);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
  OK(MPI_Errhandler_free(&before));
  OK(MPI_Errhandler_free(&handler));
}

static void note_win(MPI_Win* on, int* code, ...) {
  (void)on, (void)code;
}
static void note_file(MPI_File* on, int* code, ...) {
  (void)on, (void)code;
}

static void handlers_of_kinds(void) {
  MPI_Errhandler win, file;
  OK(MPI_Win_create_errhandler(note_win, &win));
  OK(MPI_File_create_errhandler(note_file, &file));
  FAILS(MPI_Comm_set_errhandler(comm, win), MPI_ERR_ERRHANDLER);
  FAILS(MPI_Comm_set_errhandler(comm, file), MPI_ERR_ERRHANDLER);
  OK(MPI_Errhandler_free(&win));
  OK(MPI_Errhandler_free(&file));
  int key = -1, flag;
  void* value;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
  FAILS(MPI_Comm_get_attr(comm, key, &value, &flag), MPI_ERR_KEYVAL);
  OK(MPI_Win_free_keyval(&key));
  EQ(key, MPI_KEYVAL_INVALID);
}

// --- 9.4, 9.5: classes and codes
// -------------------------------------------------------------------
static void classes(void) {
  int class = -1;
  char text[MPI_MAX_ERROR_STRING];
  EQ(MPI_SUCCESS, 0);
  const int some[] = {MPI_SUCCESS,   MPI_ERR_BUFFER, MPI_ERR_TRUNCATE,
                      MPI_ERR_OTHER, MPI_ERR_WIN,    MPI_ERR_LASTCODE};
  for (int i = 0; i < 5; ++i) {
    OK(MPI_Error_class(some[i], &class));
    EQ(class, some[i]);
    CHECK(some[i] <= MPI_ERR_LASTCODE, "class %d is above MPI_ERR_LASTCODE", some[i]);
    OK(MPI_Error_string(some[i], text, &class));
    EQ(class, strlen(text));
  }
}

static void added(void) {
  int class = -1, code = -1, got = -1, *last = NULL, before = -1;
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &got));
  before = *last;
  OK(MPI_Add_error_class(&class));
  CHECK(class > before, "the new class is %d, MPI_LASTUSEDCODE was %d", class, before);
  OK(MPI_Error_string(class, text, &got));
  EQ(got, 0);  // empty until it is set
  OK(MPI_Add_error_code(class, &code));
  OK(MPI_Error_class(code, &got));
  EQ(got, class);
  OK(MPI_Add_error_string(code, "first"));
  OK(MPI_Add_error_string(code, "second"));  // replaces
  OK(MPI_Error_string(code, text, &got));
  TEXT(text, "second");
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &got));
  CHECK(*last >= code, "MPI_LASTUSEDCODE is %d, the new code %d", *last, code);
  FAILS(MPI_Add_error_string(MPI_ERR_TAG, "mine"), MPI_ERR_ARG);
  CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS, "a class that has a code can be removed");
  OK(MPI_Remove_error_string(code));
  OK(MPI_Error_string(code, text, &got));
  EQ(got, 0);
  OK(MPI_Remove_error_code(code));
  OK(MPI_Remove_error_class(class));
  CHECK(MPI_Remove_error_class(MPI_ERR_TAG) != MPI_SUCCESS, "a predefined class can be removed");
}

// --- 10: info
// --------------------------------------------------------------------------------------
static void info_order(void) {
  MPI_Info info, copy;
  int n = -1, length = 3, flag = -1;
  char key[MPI_MAX_INFO_KEY], value[20] = "?";
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "a", "one"));
  OK(MPI_Info_set(info, "b", "two"));
  OK(MPI_Info_set(info, "a", "three"));  // replaces, keeps its place
  OK(MPI_Info_get_nkeys(info, &n));
  EQ(n, 2);
  OK(MPI_Info_dup(info, &copy));
  OK(MPI_Info_set(info, "a", "changed"));
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Info_get_nthkey(copy, i, key));
    TEXT(key, i == 0 ? "a" : "b");
  }
  OK(MPI_Info_get_string(copy, "a", &length, value, &flag));
  TEXT(value, "th");  // cut to the room, with its end
  EQ(length, 6), EQ(flag, 1);
  length = 0;
  strcpy(value, "same");
  OK(MPI_Info_get_string(copy, "a", &length, value, &flag));
  EQ(length, 6), EQ(flag, 1);
  TEXT(value, "same");
  length = 20;
  OK(MPI_Info_get_string(copy, "none", &length, value, &flag));
  EQ(flag, 0);
  TEXT(value, "same");
  OK(MPI_Info_delete(copy, "a"));
  OK(MPI_Info_get_nkeys(copy, &n));
  EQ(n, 1);
  FAILS(MPI_Info_delete(copy, "a"), MPI_ERR_INFO_NOKEY);
  OK(MPI_Info_free(&info));
  OK(MPI_Info_free(&copy));
  CHECK(copy == MPI_INFO_NULL, "Info_free left the handle as it was");
}

static void info_env(void) {
  int flag = -1, length = 100, n = -1;
  char value[100];
  OK(MPI_Info_get_string(MPI_INFO_ENV, "thread_level", &length, value, &flag));
  if (flag) CHECK(strncmp(value, "MPI_THREAD_", 11) == 0, "thread_level is '%s'", value);
  OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &n));
  MPI_Info info = MPI_INFO_ENV;
  CHECK(MPI_Info_free(&info) != MPI_SUCCESS, "MPI_INFO_ENV can be freed");
}

// --- 11: the start
// ---------------------------------------------------------------------------------
static void started(void) {
  int flag = -1, level = -1;
  MPI_Comm parent;
  OK(MPI_Initialized(&flag));
  EQ(flag, 1);
  OK(MPI_Finalized(&flag));
  EQ(flag, 0);
  OK(MPI_Query_thread(&level));
  CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE, "the thread level is %d",
        level);
  OK(MPI_Is_thread_main(&flag));
  EQ(flag, 1);
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL, "a job that nobody spawned has a parent");
  CHECK(MPI_Init(NULL, NULL) != MPI_SUCCESS, "MPI_Init succeeds twice");
}

static const Rule table[] = {
    {"9.1.1-version", version, "Get_version is that of mpi.h; lengths are those of the strings"},
    {"9.1.2-hw-resource-info", hardware_info,
     "hardware resources are URIs with the value true or false"},
    {"9.2-alloc-mem", memory, "Alloc_mem returns memory that can be used and freed"},
    {"9.6-timers", timers, "Wtime does not go back; Wtick is its resolution in seconds"},
    {"9.3-inherited", inherited,
     "a new communicator has the error handler of the one it was made of"},
    {"9.3.1-called", handler_called,
     "a handler gets communicator and code; a freed one lives while it is set"},
    {"9.3.1-get-is-reference", handler_reference,
     "Comm_get_errhandler returns a handle to be freed"},
    {"9.3-without-comm", without_comm,
     "errors of calls without a communicator go to MPI_COMM_SELF's handler"},
    {"9.3-kinds", handlers_of_kinds, "handlers and keyvals are for one kind of object only"},
    {"9.4-classes", classes,
     "0 = MPI_SUCCESS < MPI_ERR_... <= MPI_ERR_LASTCODE; a class is its own class"},
    {"9.5-added", added,
     "classes, codes and strings of the user can be added, replaced and removed"},
    {"10-info", info_order,
     "keys keep their order; values are cut to the room given; dup is a copy"},
    {"10-info-env", info_env,
     "MPI_INFO_ENV tells how the program was started, and cannot be freed"},
    {"11.2-started", started, "MPI can be started once; Initialized and Finalized tell"},
};
RULES(table)
