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
  int datatype = Datatype_out(*type);
  ((void (*)(void*, void*, void*, int*))p)(in, inout, length, &datatype);
}
static table user_function_table, user_function_c_table;
#define USER(sort, n)                                                              \
  static void sort##_##n(void* in, void* inout, int* length, MPI_Datatype* type) { \
    call_user(atomic_load(&sort##_table.at[PLACE(n)]), in, inout, length, type);   \
  }
#define USER_C(sort, n)                                                                  \
  static void sort##_##n(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) { \
    call_user(atomic_load(&sort##_table.at[PLACE(n)]), in, inout, length, type);         \
  }
REPEAT(USER, user_function)
REPEAT(USER_C, user_function_c)
FUNCTIONS(user_function, MPI_User_function)
FUNCTIONS(user_function_c, MPI_User_function_c)

static void call_handler(procedure* p, int handle, int* code) {
  ((void (*)(int*, int*))p)(&handle, code);
}
#define HANDLER(sort, n, type, name)                                                  \
  static void sort##_##n(type* handle, int* code, ...) {                              \
    call_handler(atomic_load(&sort##_table.at[PLACE(n)]), name##_out(*handle), code); \
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

// Attributes are integers of MPI_ADDRESS_KIND in Fortran, kept as the address that C knows.
typedef void copy_procedure(int*, int*, MPI_Aint*, MPI_Aint*, MPI_Aint*, int*, int*);
typedef void delete_procedure(int*, int*, MPI_Aint*, MPI_Aint*, int*);
#define ATTRIBUTES(type, word, name)                                                              \
  int word##_copied(type h, int keyval, void* extra, void* in, void* out, int* flag) {            \
    struct state* state = extra;                                                                  \
    int handle = name##_out(h), e = MPI_SUCCESS;                                                  \
    MPI_Aint value_in = (MPI_Aint)in, value_out = 0;                                              \
    ((copy_procedure*)state->first)(&handle, &keyval, &state->extra, &value_in, &value_out, flag, \
                                    &e);                                                          \
    *flag = *flag != 0;                                                                           \
    *(void**)out = (void*)value_out;                                                              \
    return e;                                                                                     \
  }                                                                                               \
  int word##_deleted(type h, int keyval, void* value, void* extra) {                              \
    struct state* state = extra;                                                                  \
    int handle = name##_out(h), e = MPI_SUCCESS;                                                  \
    MPI_Aint old = (MPI_Aint)value;                                                               \
    ((delete_procedure*)state->second)(&handle, &keyval, &old, &state->extra, &e);                \
    return e;                                                                                     \
  }
ATTRIBUTES(MPI_Comm, comm, Comm)
ATTRIBUTES(MPI_Datatype, type, Datatype)
ATTRIBUTES(MPI_Win, win, Win)

// Those of MPI_KEYVAL_CREATE take default integers.
int old_copied(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  struct state* state = extra;
  int handle = Comm_out(comm), e = MPI_SUCCESS;
  int own = (int)state->extra, value_in = (int)(MPI_Aint)in, value_out = 0;
  ((void (*)(int*, int*, int*, int*, int*, int*, int*))state->first)(
      &handle, &keyval, &own, &value_in, &value_out, flag, &e);
  *flag = *flag != 0;
  *(void**)out = (void*)(MPI_Aint)value_out;
  return e;
}
int old_deleted(MPI_Comm comm, int keyval, void* value, void* extra) {
  struct state* state = extra;
  int handle = Comm_out(comm), e = MPI_SUCCESS, own = (int)state->extra, old = (int)(MPI_Aint)value;
  ((void (*)(int*, int*, int*, int*, int*))state->second)(&handle, &keyval, &old, &own, &e);
  return e;
}

int request_queried(void* extra, MPI_Status* status) {
  struct state* state = extra;
  int e = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, MPI_Status*, int*))state->first)(&state->extra, status, &e);
  return e;
}
int request_freed(void* extra) {
  struct state* state = extra;
  int e = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, int*))state->second)(&state->extra, &e);
  free(state);
  return e;
}
int request_cancelled(void* extra, int complete) {
  struct state* state = extra;
  int e = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, int*, int*))state->third)(&state->extra, &complete, &e);
  return e;
}

static int converted(procedure* p, void* buf, MPI_Datatype type, void* count, void* file,
                     MPI_Offset position, struct state* state) {
  int e = MPI_SUCCESS, datatype = Datatype_out(type);
  ((void (*)(void*, int*, void*, void*, MPI_Offset*, MPI_Aint*, int*))p)(
      buf, &datatype, count, file, &position, &state->extra, &e);
  return e;
}
#define CONVERSION(name, which, count_type)                                                    \
  int name(void* buf, MPI_Datatype type, count_type count, void* file, MPI_Offset position,    \
           void* state) {                                                                      \
    return converted(((struct state*)state)->which, buf, type, &count, file, position, state); \
  }
CONVERSION(data_read, first, int)
CONVERSION(data_written, second, int)
CONVERSION(data_read_c, first, MPI_Count)
CONVERSION(data_written_c, second, MPI_Count)

int data_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  struct state* state = extra;
  int e = MPI_SUCCESS, datatype = Datatype_out(type);
  ((void (*)(int*, MPI_Aint*, MPI_Aint*, int*))state->third)(&datatype, extent, &state->extra, &e);
  return e;
}
