// SPDX-License-Identifier: Apache-2.0
// What may be called at any time (MPI-5.0 §11.4.1, the MPI_T functions, and handle conversion):
// each is called before MPI_Init, between, after MPI_Finalize, and before MPI_Init by four threads
// at once.
#include <pthread.h>

#include "../check.h"

static void versions(void) {
  int version = 0, subversion = 0, length = 0;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  OK(MPI_Get_version(&version, &subversion));
  EQ(version, 5);
  OK(MPI_Get_library_version(text, &length));
  EQ(length, (int)strlen(text));
  OK(MPI_Abi_get_version(&version, &subversion));
  EQ(version, 1);
}

static void abi_infos(void) {
  MPI_Info info;
  int flag = 0, is_set = 0, value = 0, other = 0;
  char text[64];
  int length = sizeof text;
  OK(MPI_Abi_get_info(&info));
  OK(MPI_Info_get_string(info, "mpi_aint_size", &length, text, &flag));
  CHECK(flag && atoi(text) == 8, "mpi_aint_size is %s", flag ? text : "missing");
  OK(MPI_Info_free(&info));
  OK(MPI_Abi_get_fortran_info(&info));
  if (info != MPI_INFO_NULL) OK(MPI_Info_free(&info));
  OK(MPI_Abi_get_fortran_booleans(4, &value, &other, &is_set));
}

static void infos(void) {
  MPI_Info info, copy;
  int count = 0, flag = 0, length = 8;
  char key[MPI_MAX_INFO_KEY + 1], text[8], *words[] = {"program", NULL};
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "colour", "blue"));
  OK(MPI_Info_set(info, "shade", "dark"));
  OK(MPI_Info_dup(info, &copy));
  OK(MPI_Info_delete(info, "shade"));
  OK(MPI_Info_get_nkeys(info, &count));
  EQ(count, 1);
  OK(MPI_Info_get_nthkey(copy, 1, key));
  CHECK(strcmp(key, "shade") == 0, "key 1 is %s", key);
  OK(MPI_Info_get_string(info, "colour", &length, text, &flag));
  CHECK(flag && strcmp(text, "blue") == 0, "colour is %s", flag ? text : "missing");
  OK(MPI_Info_get(copy, "colour", 7, text, &flag));
  OK(MPI_Info_get_valuelen(copy, "shade", &length, &flag));
  EQ(length, 4);
  CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info, "an info does not survive its integer");
  OK(MPI_Info_free(&info));
  OK(MPI_Info_free(&copy));
  OK(MPI_Info_create_env(1, words, &info));
  OK(MPI_Info_free(&info));
}

static void comm_failed(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}
static void session_failed(MPI_Session* session, int* code, ...) {
  (void)session, (void)code;
}

static void handlers(void) {
  MPI_Errhandler handler;
  OK(MPI_Session_create_errhandler(session_failed, &handler));
  CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(handler)) == handler,
        "an error handler does not survive its integer");
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL, "Errhandler_free left the handle as it was");
  OK(MPI_Comm_create_errhandler(comm_failed, &handler));
  OK(MPI_Errhandler_free(&handler));
}

static void errors(void) {
  int class, code, found, length;
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Add_error_class(&class));
  OK(MPI_Add_error_code(class, &code));
  OK(MPI_Add_error_string(code, "torn"));
  OK(MPI_Error_class(code, &found));
  EQ(found, class);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, "torn") == 0, "the text is '%s'", text);
  OK(MPI_Remove_error_string(code));
  OK(MPI_Remove_error_code(code));
  OK(MPI_Remove_error_class(class));
  OK(MPI_Error_string(MPI_ERR_RANK, text, &length));
  OK(MPI_Error_class(MPI_ERR_RANK, &found));
  EQ(found, MPI_ERR_RANK);
}

static void tools(void) {
  int provided = -1, cvars = 0, pvars = 0, categories = 0, events = 0;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_cvar_get_num(&cvars));
  OK(MPI_T_pvar_get_num(&pvars));
  OK(MPI_T_category_get_num(&categories));
  OK(MPI_T_event_get_num(&events));
  CHECK(cvars > 0 && pvars > 0, "%d control and %d performance variables", cvars, pvars);
  MPI_T_pvar_session session;
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
}

static void conversions(void) {
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "MPI_COMM_WORLD");
  CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT, "MPI_INT");
  CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM, "MPI_SUM");
  CHECK(MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY, "MPI_GROUP_EMPTY");
  CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL, "MPI_WIN_NULL");
  CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL, "MPI_FILE_NULL");
  CHECK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) == MPI_SESSION_NULL,
        "MPI_SESSION_NULL");
  CHECK(MPI_Aint_diff(MPI_Aint_add(100, 20), 20) == 100, "the sum of addresses");
}

static const struct {
  const char* name;
  void (*call)(void);
} table[] = {{"versions", versions},      {"abi_infos", abi_infos}, {"infos", infos},
             {"handlers", handlers},      {"errors", errors},       {"tools", tools},
             {"conversions", conversions}};

static void call_all(int initialized, int finalized, const char* when) {
  int flag = -1;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
    const long before = failures;
    table[i].call();
    if (failures > before) fail_(__FILE__, __LINE__, "in %s %s", table[i].name, when);
  }
  OK(MPI_Initialized(&flag));
  EQ(flag, initialized);
  OK(MPI_Finalized(&flag));
  EQ(flag, finalized);
}

// Plain comparisons: the counters of check.h are not for threads.
static void* in_thread(void* argument) {
  long* bad = argument;
  for (int i = 0; i < 500; ++i) {
    MPI_Info info;
    MPI_Errhandler handler;
    int class = 0, flag = 0;
    char text[8];
    *bad += MPI_Info_create(&info) || MPI_Info_set(info, "colour", "blue");
    *bad +=
        MPI_Session_create_errhandler(session_failed, &handler) || MPI_Errhandler_free(&handler);
    *bad += MPI_Add_error_class(&class) || class <= MPI_ERR_LASTCODE;
    *bad += MPI_Info_get(info, "colour", 7, text, &flag) || !flag || strcmp(text, "blue") != 0;
    *bad += MPI_Info_free(&info);
  }
  return NULL;
}

int main(int argc, char** argv) {
  call_all(0, 0, "before MPI_Init");
  enum { nthreads = 4 };
  pthread_t threads[nthreads];
  long bad[nthreads] = {0};
  for (int i = 0; i < nthreads; ++i) pthread_create(&threads[i], NULL, in_thread, &bad[i]);
  for (int i = 0; i < nthreads; ++i) {
    pthread_join(threads[i], NULL);
    EQ(bad[i], 0);
  }
  start(&argc, &argv);
  call_all(1, 0, "between MPI_Init and MPI_Finalize");
  OK(MPI_Finalize());
  call_all(1, 1, "after MPI_Finalize");
  return verdict();
}
