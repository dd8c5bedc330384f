// SPDX-License-Identifier: Apache-2.0
//
// Callbacks of Fortran programs, as C functions that the C library can call. A callback that gets
// an extra state is called by one fixed function that finds it there. User operations and error
// handlers get none: each Fortran procedure has a C function of its own, out of a fixed number of
// them, for good (the same procedure gets the same).
#ifndef WEFT_FORTRAN_CALLBACKS_H
#define WEFT_FORTRAN_CALLBACKS_H

#include "support.h"

typedef void procedure(void);

// Null if there are more than `most_procedures` of one sort.
enum { most_procedures = 256 };
LOCAL MPI_User_function* user_function(procedure* p);
LOCAL MPI_User_function_c* user_function_c(procedure* p);
LOCAL MPI_Comm_errhandler_function* comm_errhandler(procedure* p);
LOCAL MPI_File_errhandler_function* file_errhandler(procedure* p);
LOCAL MPI_Session_errhandler_function* session_errhandler(procedure* p);
LOCAL MPI_Win_errhandler_function* win_errhandler(procedure* p);

// What stands in the extra state: the procedures, and the program's own extra state.
struct state {
  procedure *first, *second, *third;
  MPI_Aint extra;
};
LOCAL struct state* new_state(procedure* first, procedure* second, procedure* third,
                              MPI_Aint extra);

#define ATTRIBUTE_CALLBACKS(type, word)                                                          \
  LOCAL int word##_copied(type handle, int keyval, void* state, void* in, void* out, int* flag); \
  LOCAL int word##_deleted(type handle, int keyval, void* value, void* state);
ATTRIBUTE_CALLBACKS(MPI_Comm, comm)
ATTRIBUTE_CALLBACKS(MPI_Datatype, type)
ATTRIBUTE_CALLBACKS(MPI_Win, win)
ATTRIBUTE_CALLBACKS(MPI_Comm, old)

LOCAL int request_queried(void* state, MPI_Status* status);
LOCAL int request_freed(void* state);
LOCAL int request_cancelled(void* state, int complete);
LOCAL int data_read(void* buf, MPI_Datatype type, int count, void* file, MPI_Offset position,
                    void* state);
LOCAL int data_written(void* buf, MPI_Datatype type, int count, void* file, MPI_Offset position,
                       void* state);
LOCAL int data_read_c(void* buf, MPI_Datatype type, MPI_Count count, void* file,
                      MPI_Offset position, void* state);
LOCAL int data_written_c(void* buf, MPI_Datatype type, MPI_Count count, void* file,
                         MPI_Offset position, void* state);
LOCAL int data_extent(MPI_Datatype type, MPI_Aint* extent, void* state);

#endif
