// SPDX-License-Identifier: Apache-2.0
// The objects and callbacks that values.toml refers to, and handles that are none. For fuzz.c
// alone.
#ifndef WEFT_TESTS_ARGUMENTS_OBJECTS_H
#define WEFT_TESTS_ARGUMENTS_OBJECTS_H

#include "../rank/check.h"
#include "fuzz.h"

MPI_Comm intra, cart, graph, dist, inter = MPI_COMM_NULL;
MPI_Info some_info;
MPI_Win some_win = MPI_WIN_NULL;  // on `intra`; its epoch of MPI_Win_lock_all is open
static long long window_memory[512];
MPI_Session some_session = MPI_SESSION_NULL;
MPI_Group group_of_one, other_group;
MPI_Datatype derived, ints[32];
int keyval, type_keyval, win_keyval, partner, counter_index;
char long_text[5000];
int ranges[32][3] = {{0, 0, 1}};
int zeros[32], ones[32], blocks[32], defaults[32];
MPI_Count large_zeros[32], large_ones[32];
MPI_Status some_status;
MPI_T_cvar_handle cvar_handle;
MPI_T_pvar_session pvar_session_handle;
MPI_T_pvar_handle pvar_handle;
char* words[32] = {"fuzz", "word", NULL};

static char rooms[params_max][4096];
static long long variables[16][16];
static int variable_count;
static MPI_Comm leaf;  // all ranks, for calls of which each believes that another one is the root

int OK_(int code) {
  OK(code);
  return code;
}
void* room(int i) {
  return rooms[i];
}
void* variable(long long value) {
  long long* v = variables[variable_count++ % 16];
  memset(v, 0, sizeof variables[0]);
  *v = value;
  return v;
}

// An object that the call may free is made anew when it is gone.
#define OWN(name, type, null, make)   \
  void* own_##name(void) {            \
    static type object;               \
    static int is_made;               \
    if (!is_made || object == null) { \
      is_made = 1;                    \
      OK(make);                       \
    }                                 \
    return &object;                   \
  }
OWN(comm, MPI_Comm, MPI_COMM_NULL, MPI_Comm_dup(intra, &object))
OWN(type, MPI_Datatype, MPI_DATATYPE_NULL, MPI_Type_contiguous(2, MPI_INT, &object))
OWN(group, MPI_Group, MPI_GROUP_NULL, MPI_Comm_group(intra, &object))
OWN(info, MPI_Info, MPI_INFO_NULL, MPI_Info_create(&object))
OWN(op, MPI_Op, MPI_OP_NULL, MPI_Op_create(reduce_fn, 1, &object))
OWN(errhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL,
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function*)handler_fn, &object))
OWN(persistent, MPI_Request, MPI_REQUEST_NULL,
    MPI_Send_init(zeros, 1, MPI_INT, MPI_PROC_NULL, 0, intra, &object))
OWN(active, MPI_Request, MPI_REQUEST_NULL, MPI_Irecv(room(14), 1, MPI_INT, 0, 77, intra, &object))
OWN(grequest, MPI_Request, MPI_REQUEST_NULL,
    MPI_Grequest_start(query_fn, free_fn, cancel_fn, NULL, &object))
OWN(keyval, int, MPI_KEYVAL_INVALID,
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &object, NULL))
OWN(type_keyval, int, MPI_KEYVAL_INVALID,
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &object, NULL))
OWN(win, MPI_Win, MPI_WIN_NULL,
    MPI_Win_create(zeros, sizeof zeros, 1, MPI_INFO_NULL, intra, &object))
OWN(mpi_session, MPI_Session, MPI_SESSION_NULL,
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &object))
OWN(win_keyval, int, MPI_KEYVAL_INVALID,
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &object, NULL))
OWN(cvar, MPI_T_cvar_handle, MPI_T_CVAR_HANDLE_NULL,
    MPI_T_cvar_handle_alloc(0, NULL, &object, (int[]){0}))
OWN(session, MPI_T_pvar_session, MPI_T_PVAR_SESSION_NULL, MPI_T_pvar_session_create(&object))
OWN(pvar, MPI_T_pvar_handle, MPI_T_PVAR_HANDLE_NULL,
    MPI_T_pvar_handle_alloc(pvar_session_handle, counter_index, NULL, &object, (int[]){0}))

void* own_persistents(void) {
  static MPI_Request requests[32];
  requests[0] = *(MPI_Request*)own_persistent();
  return requests;
}
void* null_requests(void) {
  static MPI_Request requests[32];
  for (int i = 0; i < 32; ++i) requests[i] = MPI_REQUEST_NULL;
  return requests;
}
void* null_infos(void) {
  static MPI_Info infos[32];
  for (int i = 0; i < 32; ++i) infos[i] = MPI_INFO_NULL;
  return infos;
}
void* own_message(void) {
  static MPI_Message message;
  message = MPI_MESSAGE_NO_PROC;
  return &message;
}
void* own_memory(void) {
  static void* memory;
  if (memory == NULL) OK(MPI_Alloc_mem(64, MPI_INFO_NULL, &memory));
  return memory;
}
int own_class(void) {
  int class = 0;
  OK(MPI_Add_error_class(&class));
  return class;
}
int own_code(void) {
  int code = 0;
  OK(MPI_Add_error_code(MPI_ERR_OTHER, &code));
  return code;
}
int own_string(void) {
  const int code = own_code();
  OK(MPI_Add_error_string(code, "torn"));
  return code;
}
int attribute(void) {
  OK(MPI_Comm_set_attr(intra, keyval, zeros));
  return keyval;
}
int win_attribute(void) {
  OK(MPI_Win_set_attr(some_win, win_keyval, zeros));
  return win_keyval;
}
int type_attribute(void) {
  OK(MPI_Type_set_attr(derived, type_keyval, zeros));
  return type_keyval;
}
void reduce_fn(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)in, (void)inout, (void)n, (void)type;
}
void handler_fn(void* object, int* code, ...) {
  (void)object, (void)code;
}
int copy_attr_fn(void* object, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)object, (void)keyval, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_SUCCESS;
}
int delete_attr_fn(void* object, int keyval, void* attribute, void* extra) {
  (void)object, (void)keyval, (void)attribute, (void)extra;
  return MPI_SUCCESS;
}
int query_fn(void* state, MPI_Status* status) {
  (void)state;
  status->MPI_SOURCE = MPI_UNDEFINED, status->MPI_TAG = MPI_UNDEFINED;
  OK(MPI_Status_set_cancelled(status, 0));
  return MPI_Status_set_elements(status, MPI_BYTE, 0);
}
int free_fn(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
int cancel_fn(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

// --- handles
static void* live[16];  // of each Kind

static void* make(enum Kind kind) {
  switch (kind) {
    case comm: {
      MPI_Comm made;
      OK(MPI_Comm_dup(intra, &made));
      return made;
    }
    case type: {
      MPI_Datatype made;
      OK(MPI_Type_contiguous(3, MPI_INT, &made));
      return made;
    }
    case group: {
      MPI_Group made;
      OK(MPI_Comm_group(intra, &made));
      return made;
    }
    case info: {
      MPI_Info made;
      OK(MPI_Info_create(&made));
      return made;
    }
    case op: {
      MPI_Op made;
      OK(MPI_Op_create(reduce_fn, 1, &made));
      return made;
    }
    case errhandler: {
      MPI_Errhandler made;
      OK(MPI_Comm_create_errhandler((MPI_Comm_errhandler_function*)handler_fn, &made));
      return made;
    }
    case request: {
      MPI_Request made;
      OK(MPI_Send_init(zeros, 1, MPI_INT, MPI_PROC_NULL, 0, intra, &made));
      return made;
    }
    default:
      return NULL;
  }
}

static void unmake(enum Kind kind, void* made) {
  switch (kind) {
    case comm:
      OK(MPI_Comm_free((MPI_Comm*)&made));
      return;
    case type:
      OK(MPI_Type_free((MPI_Datatype*)&made));
      return;
    case group:
      OK(MPI_Group_free((MPI_Group*)&made));
      return;
    case info:
      OK(MPI_Info_free((MPI_Info*)&made));
      return;
    case op:
      OK(MPI_Op_free((MPI_Op*)&made));
      return;
    case errhandler:
      OK(MPI_Errhandler_free((MPI_Errhandler*)&made));
      return;
    case request:
      OK(MPI_Request_free((MPI_Request*)&made));
      return;
    default:
      return;
  }
}

int bad_handles(Value* to, enum Kind kind) {
  static void* const odd[] = {NULL,  (void*)5,  (void*)0x3ff, (void*)MPI_WIN_NULL,
                              zeros, (void*)-1, (void*)-64,   (void*)0x7f0000000040};
  int n = 0;
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; ++i) to[n++].p = odd[i];
  to[n++].p = kind == comm ? (void*)MPI_INT : (void*)MPI_COMM_WORLD;
  for (int k = 0; k < 16; ++k) {
    if (live[k] == NULL) continue;
    to[n++].p = k == (int)kind ? (char*)live[k] + 8 : live[k];
  }
  void* freed = make(kind);
  if (freed == NULL) return n;
  unmake(kind, freed);
  to[n++].p = freed;
  return n;
}

// --- what a call has made
// Calls with a datatype that somebody has made, whatever it is.
static void use(MPI_Datatype made) {
  MPI_Count lb, extent, size;
  MPI_Datatype more;
  int elements, position = 0;
  MPI_Status status = some_status;
  if (made == MPI_DATATYPE_NULL) return;
  OK(MPI_Type_get_extent_c(made, &lb, &extent));
  OK(MPI_Type_get_true_extent_c(made, &lb, &extent));
  OK(MPI_Type_size_c(made, &size));
  OK(MPI_Type_commit(&made));
  for (int count = 0; count <= INT_MAX / 2; count = 3 * count + 1) {
    MPI_Pack_size(count, made, intra, &elements);
    MPI_Pack_external_size("external32", count, made, &size);
    MPI_Send(rooms, count, made, MPI_PROC_NULL, 0, intra);
    MPI_Status_set_elements(&status, made, count);
    MPI_Get_elements(&status, made, &elements);
    MPI_Get_count(&status, made, &elements);
    if (MPI_Type_vector(count, 2, INT_MAX, made, &more) == MPI_SUCCESS) OK(MPI_Type_free(&more));
    if (MPI_Type_contiguous(count, made, &more) == MPI_SUCCESS) OK(MPI_Type_free(&more));
  }
  MPI_Pack(rooms, 0, made, rooms, 64, &position, intra);
  if (MPI_Type_create_resized(made, lb, extent, &more) == MPI_SUCCESS) OK(MPI_Type_free(&more));
}

static void dispose(const Param* p, void* at) {
  switch (p->kind) {
    case comm:
      if (*(MPI_Comm*)at != MPI_COMM_NULL) OK(MPI_Comm_free(at));
      return;
    case type:
      use(*(MPI_Datatype*)at);
      MPI_Type_free(at);  // may be predefined
      return;
    case group:
      if (*(MPI_Group*)at != MPI_GROUP_NULL) OK(MPI_Group_free(at));
      return;
    case info:
      if (*(MPI_Info*)at != MPI_INFO_NULL) OK(MPI_Info_free(at));
      return;
    case errhandler:
      if (*(MPI_Errhandler*)at != MPI_ERRHANDLER_NULL) OK(MPI_Errhandler_free(at));
      return;
    case op:
      if (*(MPI_Op*)at != MPI_OP_NULL) OK(MPI_Op_free(at));
      return;
    case cvar:
      OK(MPI_T_cvar_handle_free(at));
      return;
    case session:
      OK(MPI_T_pvar_session_free(at));
      return;
    case pvar:
      OK(MPI_T_pvar_handle_free(pvar_session_handle, at));
      return;
    default:
      return;
  }
}

// --- start and end
static void set_up(void) {
  int provided, n = 0;
  MPI_Group world;
  for (int i = 0; i < 32; ++i) {
    ones[i] = 1, large_ones[i] = 1, ints[i] = MPI_INT;
    blocks[i] = MPI_DISTRIBUTE_BLOCK, defaults[i] = MPI_DISTRIBUTE_DFLT_DARG;
  }
  OK(MPI_Info_create(&some_info));
  OK(MPI_Info_set(some_info, "weft", "woof"));
  memset(long_text, 'x', sizeof long_text - 1);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_dup(MPI_COMM_SELF, &intra));
  OK(MPI_Win_create(window_memory, sizeof window_memory, 1, MPI_INFO_NULL, intra, &some_win));
  OK(MPI_Win_set_errhandler(some_win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, some_win));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &some_session));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &leaf));
  OK(MPI_Comm_group(intra, &group_of_one));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  partner = (rank ^ 1) < size && size % 2 == 0 ? rank ^ 1 : -1;
  OK(MPI_Group_incl(world, partner >= 0, &partner, &other_group));
  OK(MPI_Group_free(&world));
  OK(MPI_Cart_create(intra, 1, ones, ones, 0, &cart));
  OK(MPI_Graph_create(intra, 1, ones, zeros, 0, &graph));
  OK(MPI_Dist_graph_create_adjacent(intra, 1, zeros, MPI_UNWEIGHTED, 1, zeros, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &dist));
  if (size > 1) {
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter));
    OK(MPI_Comm_free(&half));
  }
  OK(MPI_Type_contiguous(2, MPI_INT, &derived));
  OK(MPI_Type_commit(&derived));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
  OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL));
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, NULL));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_cvar_handle_alloc(0, NULL, &cvar_handle, &n));
  OK(MPI_T_pvar_session_create(&pvar_session_handle));
  OK(MPI_T_pvar_get_index("messages_sent", MPI_T_PVAR_CLASS_COUNTER, &counter_index));
  OK(MPI_T_pvar_handle_alloc(pvar_session_handle, counter_index, NULL, &pvar_handle, &n));
  OK(MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, intra, &some_status));
  for (int k = 0; k < 16; ++k) live[k] = make((enum Kind)k);
}

static void tear_down(void) {
  OK(MPI_Cancel(own_active()));
  OK(MPI_Wait(own_active(), MPI_STATUS_IGNORE));
  for (int k = 0; k < 16; ++k) unmake((enum Kind)k, live[k]);
  OK(MPI_Info_free(&some_info));
  OK(MPI_Win_unlock_all(some_win));
  OK(MPI_Win_free(&some_win));
  OK(MPI_Session_finalize(&some_session));
  OK(MPI_Session_finalize(own_mpi_session()));
}

#endif
