// SPDX-License-Identifier: Apache-2.0
// What the generated table of calls (generate.py) and the program that makes them (fuzz.c) share.
#ifndef WEFT_TESTS_ARGUMENTS_FUZZ_H
#define WEFT_TESTS_ARGUMENTS_FUZZ_H

#include <limits.h>
#include <mpi.h>
#include <stdint.h>

// An argument: a number, or an address or handle.
typedef union {
  long long i;
  void* p;
} Value;

enum { values_max = 64, params_max = 16, classes_max = 3 };

typedef struct {
  const char* name;
  enum Shape {
    scalar,   // passed by value
    pointer,  // an address that the call follows; what lies there is not changed here
    pointee,  // an address of `bytes` bytes, which are changed
    element,  // an array of elements of `bytes` each, of which the first is changed
  } shape;
  int bytes;                         // of an element: 4 or 8
  int (*bad)(Value*);                // writes wrong values and returns how many; may be null
  int classes[classes_max];          // the error classes that a wrong value may have
  unsigned legal;                    // bit i: the constant i of `constants` is legal here
  int pointer_classes[classes_max];  // the classes of another one
  int at_root;                       // significant at the root only
  int any;                           // any number is harmless: refused, or right
  enum Kind {
    other,
    buffer,
    comm,
    root,
    request,
    type,
    group,
    info,
    errhandler,
    op,
    cvar,
    session,
    pvar
  } kind;
  enum Direction { input, out, inout } direction;
} Param;

typedef struct {
  const char* name;
  int (*call)(const Value*);
  void (*good)(Value*);  // arguments with which the call succeeds
  int nparams;
  Param params[params_max];
  unsigned flags;
} Call;
enum {
  works = 1,       // else the call is MPI_ERR_UNSUPPORTED_OPERATION whatever the arguments
  anytime = 2,     // may be called before MPI_Init
  returns = 4,     // errors are returned, no handler is called
  no_error = 8,    // has no error code
  no_base = 16,    // the right arguments are not tried
  pairs = 32,      // needs an even number of ranks
  tool = 64,       // MPI_T
  no_inter = 128,  // not for intercommunicators
};

extern const Call calls[];
extern const int call_count;

// What generate.py finds in values.toml are expressions in these.
extern MPI_Comm intra, cart, graph, dist, inter;
extern MPI_Info some_info;
extern MPI_Win some_win;
extern MPI_Session some_session;
extern MPI_Group group_of_one, other_group;
extern MPI_Datatype derived;
extern int keyval, type_keyval, win_keyval, partner;
extern char long_text[];
extern int ranges[32][3];
extern int zeros[32], ones[32], blocks[32], defaults[32];
extern MPI_Count large_zeros[32], large_ones[32];
extern MPI_Datatype ints[32];
extern MPI_Status some_status;
extern MPI_T_cvar_handle cvar_handle;
extern MPI_T_pvar_session pvar_session_handle;
extern MPI_T_pvar_handle pvar_handle;
extern int counter_index;
extern char* words[32];

int OK_(int code);
void* room(int i);                // 4 KiB of zeros, others for each i
void* variable(long long value);  // its address
// An address of an object of its own, which the call may free.
void *own_comm(void), *own_type(void), *own_group(void), *own_info(void), *own_op(void),
    *own_errhandler(void), *own_persistent(void), *own_active(void), *own_grequest(void),
    *own_keyval(void), *own_type_keyval(void), *own_win(void), *own_win_keyval(void),
    *own_message(void), *own_cvar(void), *own_session(void), *own_mpi_session(void),
    *own_pvar(void), *own_memory(void), *null_requests(void), *null_infos(void),
    *own_persistents(void);
int own_class(void), own_code(void), own_string(void), attribute(void), type_attribute(void),
    win_attribute(void);
int bad_handles(Value* out, enum Kind kind);
// Callbacks.
void reduce_fn(void*, void*, int*, MPI_Datatype*);
void handler_fn(void*, int*, ...);
int copy_attr_fn(void*, int, void*, void*, void*, int*), delete_attr_fn(void*, int, void*, void*);
int query_fn(void*, MPI_Status*), free_fn(void*), cancel_fn(void*, int);

#endif
