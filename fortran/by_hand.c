// SPDX-License-Identifier: Apache-2.0
//
// Entry points whose arguments are not converted one by one: start, callbacks, arguments of
// programs to spawn, strings whose length goes both ways.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callbacks.h"
#include "entry.h"

static void done(integer* ierror, int e) {
  if (ierror != NULL) *ierror = e;
}

// --- start
// ---------------------------------------------------------------------------------------------------------
void F(init)(integer* ierror) {
  done(ierror, M(Init)(NULL, NULL));
}
SAME_AS(init_f08, init);

void F(init_thread)(integer* required, integer* provided, integer* ierror) {
  int provided_c = MPI_THREAD_SINGLE;
  done(ierror, M(Init_thread)(NULL, NULL, in_c(*required), &provided_c));
  *provided = provided_c;
}
SAME_AS(init_thread_f08, init_thread);

void F(info_create_env)(integer* info, integer* ierror) {
  MPI_Info made = MPI_INFO_NULL;
  const int e = M(Info_create_env)(0, NULL, &made);
  *info = Info_out(made);
  done(ierror, e);
}
SAME_AS(info_create_env_f08, info_create_env);

void F(pcontrol)(integer* level) {
  M(Pcontrol)(in_c(*level));
}
SAME_AS(pcontrol_f08, pcontrol);

// --- callbacks
// -----------------------------------------------------------------------------------------------------
static int too_many(const char* call) {
  fprintf(stderr,
          "mpifort: %s: %d different procedures are in use already, for which there is room; give "
          "one of these again, "
          "and let it tell cases apart\n",
          call, most_procedures);
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

#define OP_CREATE(lower, Name, sort)                                                      \
  void F(lower)(procedure * user_fn, integer * commute, integer * op, integer * ierror) { \
    MPI_Op made = MPI_OP_NULL;                                                            \
    int e = MPI_SUCCESS;                                                                  \
    if (sort(user_fn) == NULL) e = too_many("MPI_" #Name);                                \
    if (e == MPI_SUCCESS) e = M(Name)(sort(user_fn), logical_in(*commute), &made);        \
    *op = Op_out(made);                                                                   \
    done(ierror, e);                                                                      \
  }
OP_CREATE(op_create, Op_create, user_function)
OP_CREATE(op_create_c_f08, Op_create_c, user_function_c)
SAME_AS(op_create_f08, op_create);

#define CREATE_ERRHANDLER(lower, Name, sort)                                   \
  void F(lower)(procedure * handler, integer * errhandler, integer * ierror) { \
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                 \
    int e = MPI_SUCCESS;                                                       \
    if (sort(handler) == NULL) e = too_many("MPI_" #Name);                     \
    if (e == MPI_SUCCESS) e = M(Name)(sort(handler), &made);                   \
    *errhandler = Errhandler_out(made);                                        \
    done(ierror, e);                                                           \
  }                                                                            \
  SAME_AS(lower##_f08, lower)
CREATE_ERRHANDLER(comm_create_errhandler, Comm_create_errhandler, comm_errhandler);
CREATE_ERRHANDLER(file_create_errhandler, File_create_errhandler, file_errhandler);
CREATE_ERRHANDLER(session_create_errhandler, Session_create_errhandler, session_errhandler);
CREATE_ERRHANDLER(win_create_errhandler, Win_create_errhandler, win_errhandler);

// The states of attributes stay: attributes may outlive their key.
#define CREATE_KEYVAL(lower, Name, word)                                                         \
  void F(lower)(procedure * copy, procedure * delete_, integer * keyval, MPI_Aint * extra_state, \
                integer * ierror) {                                                              \
    int keyval_c = MPI_KEYVAL_INVALID;                                                           \
    done(ierror, M(Name)(word##_copied, word##_deleted, &keyval_c,                               \
                         new_state(copy, delete_, NULL, *extra_state)));                         \
    *keyval = keyval_c;                                                                          \
  }                                                                                              \
  SAME_AS(lower##_f08, lower)
CREATE_KEYVAL(comm_create_keyval, Comm_create_keyval, comm);
CREATE_KEYVAL(type_create_keyval, Type_create_keyval, type);
CREATE_KEYVAL(win_create_keyval, Win_create_keyval, win);

void F(keyval_create)(procedure* copy, procedure* delete_, integer* keyval, integer* extra_state,
                      integer* ierror) {
  int keyval_c = MPI_KEYVAL_INVALID;
  done(ierror, M(Keyval_create)(old_copied, old_deleted, &keyval_c,
                                new_state(copy, delete_, NULL, *extra_state)));
  *keyval = keyval_c;
}

void F(grequest_start)(procedure* query, procedure* free_, procedure* cancel, MPI_Aint* extra_state,
                       integer* request, integer* ierror) {
  MPI_Request made = MPI_REQUEST_NULL;
  struct state* state = new_state(query, free_, cancel, *extra_state);
  const int e = M(Grequest_start)(request_queried, request_freed, request_cancelled, state, &made);
  if (e != MPI_SUCCESS) free(state);
  *request = Request_out(made);
  done(ierror, e);
}
SAME_AS(grequest_start_f08, grequest_start);

// Fortran names of the predefined conversion: no conversion. Each interface has its name for it.
#define IS_NULL(p) \
  ((p) == (procedure*)mpi_conversion_fn_null_ || (p) == (procedure*)mpi_conversion_fn_null_c_)
extern void mpi_conversion_fn_null_(void), mpi_conversion_fn_null_c_(void);
#define REGISTER_DATAREP(lower, Name, c)                                                         \
  void F(lower)(char* datarep, procedure* read, procedure* write, procedure* extent,             \
                MPI_Aint* extra_state, integer* ierror, size_t datarep_length) {                 \
    struct text name;                                                                            \
    const int e =                                                                                \
        M(Name)(text_in(&name, datarep, datarep_length, 0), IS_NULL(read) ? NULL : data_read##c, \
                IS_NULL(write) ? NULL : data_written##c, data_extent,                            \
                new_state(read, write, extent, *extra_state));                                   \
    free_text(&name);                                                                            \
    done(ierror, e);                                                                             \
  }
REGISTER_DATAREP(register_datarep, Register_datarep, )
REGISTER_DATAREP(register_datarep_c_f08, Register_datarep_c, _c)
SAME_AS(register_datarep_f08, register_datarep);

// --- strings whose length goes both ways
// --------------------------------------------------------------------------- C counts the NUL in
// the length, Fortran has none. A length of 0 asks only how long it is.
void F(info_get_string)(integer* info, char* key, integer* buflen, char* value, integer* flag,
                        integer* ierror, size_t key_length, size_t value_length) {
  struct text name;
  int found = 0, length = *buflen > 0 && *buflen < INT32_MAX ? (int)*buflen + 1 : 0;
  char* copy = length > 0 ? calloc(1, (size_t)length) : NULL;
  const int e =
      M(Info_get_string)(Info_in(*info), text_in(&name, key, key_length, 1), &length, copy, &found);
  if (e == MPI_SUCCESS && found) {
    if (copy != NULL)
      text_out(value, (size_t)*buflen < value_length ? (size_t)*buflen : value_length, copy);
    if (copy != NULL && (size_t)*buflen < value_length)
      memset(value + *buflen, ' ', value_length - (size_t)*buflen);
    *buflen = length - 1;
  }
  if (e == MPI_SUCCESS) *flag = found != 0;
  free(copy);
  free_text(&name);
  done(ierror, e);
}
SAME_AS(info_get_string_f08, info_get_string);

void F(session_get_nth_pset)(integer* session, integer* info, integer* n, integer* pset_len,
                             char* pset_name, integer* ierror, size_t name_length) {
  int length = *pset_len > 0 && *pset_len < INT32_MAX ? (int)*pset_len + 1 : 0;
  char none[1], *copy = length > 0 ? calloc(1, (size_t)length) : none;
  const int e =
      M(Session_get_nth_pset)(Session_in(*session), Info_in(*info), in_c(*n), &length, copy);
  if (e == MPI_SUCCESS && copy != none) text_out(pset_name, name_length, copy);
  if (e == MPI_SUCCESS) *pset_len = length - 1;
  if (copy != none) free(copy);
  done(ierror, e);
}
SAME_AS(session_get_nth_pset_f08, session_get_nth_pset);

// --- programs to spawn
// ---------------------------------------------------------------------------------------------
// Arguments end with a blank string, and have no blanks around them (MPI-5.0 §11.8.2); `step`
// strings lie between one and the next.
static char** arguments(const char* at, size_t length, size_t step) {
  size_t n = 0;
  for (;; ++n) {
    size_t i = 0;
    while (i < length && at[n * step * length + i] == ' ') ++i;
    if (i == length) break;
  }
  char** list = calloc(n + 1, sizeof *list);
  for (size_t i = 0; list != NULL && i < n; ++i) {
    struct text text;
    list[i] = strdup(text_in(&text, at + i * step * length, length, 1));
    free_text(&text);
  }
  return list;
}

static void free_arguments(char** list) {
  for (char** p = list; p != NULL && *p != NULL; ++p) free(*p);
  free(list);
}

static int is_sentinel(const void* p) {
  return (uintptr_t)p - (uintptr_t)&mpifort_sentinels_ < sizeof mpifort_sentinels_;
}

void F(comm_spawn)(char* command, char* argv, integer* maxprocs, integer* info, integer* root,
                   integer* comm, integer* intercomm, integer* array_of_errcodes, integer* ierror,
                   size_t command_length, size_t argv_length) {
  struct text name;
  struct ints codes;
  MPI_Comm made = MPI_COMM_NULL;
  char** list = is_sentinel(argv) ? MPI_ARGV_NULL : arguments(argv, argv_length, 1);
  ints_in(&codes, array_of_errcodes, in_c(*maxprocs));
  const int e = M(Comm_spawn)(text_in(&name, command, command_length, 1), list, in_c(*maxprocs),
                              Info_in(*info), in_c(*root), Comm_in(*comm), &made, codes.at);
  *intercomm = Comm_out(made);
  ints_out(&codes, array_of_errcodes, in_c(*maxprocs));
  free_ints(&codes);
  free_arguments(list);
  free_text(&name);
  done(ierror, e);
}
SAME_AS(comm_spawn_f08, comm_spawn);

void F(comm_spawn_multiple)(integer* count, char* array_of_commands, char* array_of_argv,
                            integer* array_of_maxprocs, integer* array_of_info, integer* root,
                            integer* comm, integer* intercomm, integer* array_of_errcodes,
                            integer* ierror, size_t command_length, size_t argv_length) {
  int rank = -1;
  MPI_Comm c = Comm_in(*comm), made = MPI_COMM_NULL;
  if (c != MPI_COMM_NULL) PMPI_Comm_rank(c, &rank);
  const int n = rank == *root && *count > 0 ? in_c(*count) : 0;  // significant at the root only
  char** commands = calloc((size_t)n + 1, sizeof *commands);
  char*** argvs =
      n == 0 || is_sentinel(array_of_argv) ? MPI_ARGVS_NULL : calloc((size_t)n + 1, sizeof *argvs);
  struct handles infos;
  struct ints maxprocs, codes;
  const MPI_Count all = sum_of(array_of_maxprocs, n);
  Info_array(&infos, array_of_info, n, 1);
  ints_in(&maxprocs, array_of_maxprocs, n);
  ints_in(&codes, array_of_errcodes, all);
  for (int i = 0; i < n; ++i) {
    struct text text;
    commands[i] =
        strdup(text_in(&text, array_of_commands + (size_t)i * command_length, command_length, 1));
    free_text(&text);
    if (argvs != MPI_ARGVS_NULL)
      argvs[i] = arguments(array_of_argv + (size_t)i * argv_length, argv_length, (size_t)n);
  }
  const int e = M(Comm_spawn_multiple)(in_c(*count), commands, argvs, maxprocs.at,
                                       (MPI_Info*)infos.at, in_c(*root), c, &made, codes.at);
  *intercomm = Comm_out(made);
  ints_out(&codes, array_of_errcodes, all);
  free_ints(&codes);
  free_ints(&maxprocs);
  for (int i = 0; argvs != MPI_ARGVS_NULL && i < n; ++i) free_arguments(argvs[i]);
  free(argvs);
  free_arguments(commands);
  free_handles(&infos);
  done(ierror, e);
}
SAME_AS(comm_spawn_multiple_f08, comm_spawn_multiple);

// --- Fortran's own
// -------------------------------------------------------------------------------------------------
void F(f_sync_reg)(void* buf) {
  (void)buf;  // that it is called is what it is for
}
SAME_AS(f_sync_reg_f08ts, f_sync_reg);

void F(status_f2f08)(const integer* f_status, integer* f08_status, integer* ierror) {
  memcpy(f08_status, f_status, 8 * sizeof *f08_status);
  done(ierror, MPI_SUCCESS);
}
void F(status_f082f)(const integer* f08_status, integer* f_status, integer* ierror) {
  memcpy(f_status, f08_status, 8 * sizeof *f08_status);
  done(ierror, MPI_SUCCESS);
}
