// SPDX-License-Identifier: Apache-2.0
//
// The C functions that call procedures of Fortran: callbacks.h.
#include "callbacks.h"

#include <stdatomic.h>
#include <stdlib.h>

// Procedures without an extra state, each at a place of a table; function i of a sort calls the one
// at place i.
typedef struct {
  procedure* _Atomic at[most_procedures];
} table;

// Its place, found or taken; -1 if all are taken. Places are never given back: an operation may be
// freed while messages still use it, and a program has few procedures.
static int place_of(table* t, procedure* p) {
  for (int i = 0; i < most_procedures; ++i) {
    procedure* there = NULL;
    if (atomic_compare_exchange_strong(&t->at[i], &there, p) || there == p) return i;
  }
  return -1;
}

// REPEAT(X, sort): X(sort, 0) ... X(sort, 255).
#define REPEAT4(X, s, n) X(s, n##0) X(s, n##1) X(s, n##2) X(s, n##3)
#define REPEAT16(X, s, n) \
  REPEAT4(X, s, n##0) REPEAT4(X, s, n##1) REPEAT4(X, s, n##2) REPEAT4(X, s, n##3)
#define REPEAT64(X, s, n) \
  REPEAT16(X, s, n##0) REPEAT16(X, s, n##1) REPEAT16(X, s, n##2) REPEAT16(X, s, n##3)
#define REPEAT(X, s) REPEAT64(X, s, 0) REPEAT64(X, s, 1) REPEAT64(X, s, 2) REPEAT64(X, s, 3)
// The suffix has four digits of base 4.
#define PLACE(n) \
  (((0##n >> 9) & 3) * 64 + ((0##n >> 6) & 3) * 16 + ((0##n >> 3) & 3) * 4 + (0##n & 3))

#define NAME(sort, n) sort##_##n,

#define FUNCTIONS(sort, result)                              \
  result* sort(procedure* p) {                               \
    static result* const functions[] = {REPEAT(NAME, sort)}; \
    const int i = place_of(&sort##_table, p);                \
    return i < 0 ? NULL : functions[i];                      \
  }

static void call_user(procedure* p, void* in, void* inout, void* length, MPI_Datatype* type) {
  integer datatype = Datatype_out(*type);
  ((void (*)(void*, void*, void*, integer*))p)(in, inout, length, &datatype);
}
static table user_function_table, user_function_c_table;
#define USER(sort, n)                                                              \
  static void sort##_##n(void* in, void* inout, int* length, MPI_Datatype* type) { \
    integer n_items = *length;                                                     \
    call_user(atomic_load(&sort##_table.at[PLACE(n)]), in, inout, &n_items, type); \
  }
#define USER_C(sort, n)                                                                  \
  static void sort##_##n(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) { \
    call_user(atomic_load(&sort##_table.at[PLACE(n)]), in, inout, length, type);         \
  }
REPEAT(USER, user_function)
REPEAT(USER_C, user_function_c)
FUNCTIONS(user_function, MPI_User_function)
FUNCTIONS(user_function_c, MPI_User_function_c)

static void call_handler(procedure* p, integer handle, integer code) {
  ((void (*)(integer*, integer*))p)(&handle, &code);
}
#define HANDLER(sort, n, type, name)                                                   \
  static void sort##_##n(type* handle, int* code, ...) {                               \
    call_handler(atomic_load(&sort##_table.at[PLACE(n)]), name##_out(*handle), *code); \
  }
#define COMM_HANDLER(sort, n) HANDLER(sort, n, MPI_Comm, Comm)
#define FILE_HANDLER(sort, n) HANDLER(sort, n, MPI_File, File)
#define SESSION_HANDLER(sort, n) HANDLER(sort, n, MPI_Session, Session)
#define WIN_HANDLER(sort, n) HANDLER(sort, n, MPI_Win, Win)
static table comm_errhandler_table, file_errhandler_table, session_errhandler_table,
    win_errhandler_table;
REPEAT(COMM_HANDLER, comm_errhandler)
REPEAT(FILE_HANDLER, file_errhandler)
REPEAT(SESSION_HANDLER, session_errhandler)
REPEAT(WIN_HANDLER, win_errhandler)
FUNCTIONS(comm_errhandler, MPI_Comm_errhandler_function)
FUNCTIONS(file_errhandler, MPI_File_errhandler_function)
FUNCTIONS(session_errhandler, MPI_Session_errhandler_function)
FUNCTIONS(win_errhandler, MPI_Win_errhandler_function)

struct state* new_state(procedure* first, procedure* second, procedure* third, MPI_Aint extra) {
  struct state* state = malloc(sizeof *state);
  if (state == NULL) abort();
  *state = (struct state){first, second, third, extra};
  return state;
}

// Attributes are integers of MPI_ADDRESS_KIND in Fortran.
typedef void copy_procedure(integer*, integer*, MPI_Aint*, MPI_Aint*, MPI_Aint*, integer*,
                            integer*);
typedef void delete_procedure(integer*, integer*, MPI_Aint*, MPI_Aint*, integer*);
#define ATTRIBUTES(type, word, name)                                                            \
  int word##_copied(type h, int keyval, void* extra, void* in, void* out, int* flag) {          \
    struct state* state = extra;                                                                \
    integer handle = name##_out(h), key = keyval, copy = 0, e = MPI_SUCCESS;                    \
    MPI_Aint value_in = attribute_value(in), value_out = 0;                                     \
    ((copy_procedure*)state->first)(&handle, &key, &state->extra, &value_in, &value_out, &copy, \
                                    &e);                                                        \
    *flag = logical_in(copy);                                                                   \
    if (*flag) *(void**)out = attribute_in(value_out);                                          \
    return in_c(e);                                                                             \
  }                                                                                             \
  int word##_deleted(type h, int keyval, void* value, void* extra) {                            \
    struct state* state = extra;                                                                \
    integer handle = name##_out(h), key = keyval, e = MPI_SUCCESS;                              \
    MPI_Aint old = attribute_value(value);                                                      \
    ((delete_procedure*)state->second)(&handle, &key, &old, &state->extra, &e);                 \
    if (e == MPI_SUCCESS) free_attribute(value);                                                \
    return in_c(e);                                                                             \
  }
ATTRIBUTES(MPI_Comm, comm, Comm)
ATTRIBUTES(MPI_Datatype, type, Datatype)
ATTRIBUTES(MPI_Win, win, Win)

// Those of MPI_KEYVAL_CREATE take default integers.
int old_copied(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  struct state* state = extra;
  integer handle = Comm_out(comm), key = keyval, copy = 0, e = MPI_SUCCESS;
  integer own = (integer)state->extra, value_in = (integer)attribute_value(in), value_out = 0;
  ((void (*)(integer*, integer*, integer*, integer*, integer*, integer*, integer*))state->first)(
      &handle, &key, &own, &value_in, &value_out, &copy, &e);
  *flag = logical_in(copy);
  if (*flag) *(void**)out = attribute_in(value_out);
  return in_c(e);
}
int old_deleted(MPI_Comm comm, int keyval, void* value, void* extra) {
  struct state* state = extra;
  integer handle = Comm_out(comm), key = keyval, e = MPI_SUCCESS, own = (integer)state->extra;
  integer old = (integer)attribute_value(value);
  ((void (*)(integer*, integer*, integer*, integer*, integer*))state->second)(&handle, &key, &old,
                                                                              &own, &e);
  if (e == MPI_SUCCESS) free_attribute(value);
  return in_c(e);
}

int request_queried(void* extra, MPI_Status* status) {
  struct state* state = extra;
  integer e = MPI_SUCCESS, fields[8];
  for (int i = 0; i < 8; ++i) fields[i] = ((const int*)status)[i];
  ((void (*)(MPI_Aint*, integer*, integer*))state->first)(&state->extra, fields, &e);
  for (int i = 0; i < 8; ++i) ((int*)status)[i] = (int)fields[i];
  return in_c(e);
}
int request_freed(void* extra) {
  struct state* state = extra;
  integer e = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, integer*))state->second)(&state->extra, &e);
  free(state);
  return in_c(e);
}
int request_cancelled(void* extra, int complete) {
  struct state* state = extra;
  integer e = MPI_SUCCESS, is_complete = complete != 0;
  ((void (*)(MPI_Aint*, integer*, integer*))state->third)(&state->extra, &is_complete, &e);
  return in_c(e);
}

static int converted(procedure* p, void* buf, MPI_Datatype type, void* count, void* file,
                     MPI_Offset position, struct state* state) {
  integer e = MPI_SUCCESS, datatype = Datatype_out(type);
  ((void (*)(void*, integer*, void*, void*, MPI_Offset*, MPI_Aint*, integer*))p)(
      buf, &datatype, count, file, &position, &state->extra, &e);
  return in_c(e);
}
#define CONVERSION(name, which, count_type, fortran_type)                                   \
  int name(void* buf, MPI_Datatype type, count_type count, void* file, MPI_Offset position, \
           void* state) {                                                                   \
    fortran_type n = count;                                                                 \
    return converted(((struct state*)state)->which, buf, type, &n, file, position, state);  \
  }
CONVERSION(data_read, first, int, integer)
CONVERSION(data_written, second, int, integer)
CONVERSION(data_read_c, first, MPI_Count, MPI_Count)
CONVERSION(data_written_c, second, MPI_Count, MPI_Count)

int data_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  struct state* state = extra;
  integer e = MPI_SUCCESS, datatype = Datatype_out(type);
  ((void (*)(integer*, MPI_Aint*, MPI_Aint*, integer*))state->third)(&datatype, extent,
                                                                     &state->extra, &e);
  return in_c(e);
}
