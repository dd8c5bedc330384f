// SPDX-License-Identifier: Apache-2.0
//
// The tool information interface (MPI-5.0 chapter 15): every parameter of base/params is a control
// variable, every counter of base/counters a performance variable. Parameters are constant once the
// process runs. A handle of a counter counts from MPI_T_pvar_start to _stop and may be written and
// reset; a high-water mark runs always and is read-only. Errors are returned, never raised. Any out
// pointer of a query may be null.
#pragma once

#include <mpi.h>

#include "base/err.h"
#include "world/rank.h"

namespace weft::abi::tool {

/// A string result: the buffer (or null) and its size, replaced by the size of the whole string.
struct Text {
  char* to;
  int* size;
};

/// MPI_T_ERR_NOT_INITIALIZED between MPI_T_finalize and MPI_T_init_thread; the entry points ask.
Err ready(const Rank& rank);
Err init(Rank& rank, int required, int* provided);
Err finalize(Rank& rank);

// control variables
Err cvar_count(Rank& rank, int* count);
Err cvar_info(Rank& rank, int index, Text name, int* verbosity, MPI_Datatype* type,
              MPI_T_enum* values, Text help, int* bind, int* scope);
Err cvar_index(Rank& rank, const char* name, int* index);
Err cvar_alloc(Rank& rank, int index, MPI_T_cvar_handle* handle, int* count);
Err cvar_free(Rank& rank, MPI_T_cvar_handle* handle);
Err cvar_read(Rank& rank, MPI_T_cvar_handle handle, void* value);
Err cvar_write(Rank& rank, MPI_T_cvar_handle handle);

// performance variables
struct PvarInfo {
  int* verbosity;
  int* var_class;
  MPI_Datatype* type;
  MPI_T_enum* values;
  int* bind;
  int* readonly;
  int* continuous;
  int* atomic;
};
Err pvar_count(Rank& rank, int* count);
Err pvar_info(Rank& rank, int index, Text name, Text help, const PvarInfo& info);
Err pvar_index(Rank& rank, const char* name, int var_class, int* index);
Err pvar_session_create(Rank& rank, MPI_T_pvar_session* session);
Err pvar_session_free(Rank& rank, MPI_T_pvar_session* session);
Err pvar_alloc(Rank& rank, MPI_T_pvar_session session, int index, MPI_T_pvar_handle* handle,
               int* count);
Err pvar_free(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle* handle);
// `handle` may be MPI_T_PVAR_ALL_HANDLES in start, stop and reset.
Err pvar_start(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle);
Err pvar_stop(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle);
Err pvar_reset(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle);
Err pvar_read(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value);
Err pvar_write(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* value);
Err pvar_readreset(Rank& rank, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value);

// categories: one per room that has parameters, and "counters"
Err category_count(Rank& rank, int* count);
Err category_info(Rank& rank, int index, Text name, Text help, int* cvars, int* pvars,
                  int* categories);
Err category_index(Rank& rank, const char* name, int* index);
Err category_cvars(Rank& rank, int index, int length, int* indices);
Err category_pvars(Rank& rank, int index, int length, int* indices);
/// What a category has none of: sub-categories and events.
Err category_none(Rank& rank, int index, int* count);

/// weft has no enumerations, events or event sources: the number is 0, any index or handle is
/// wrong.
Err none(Rank& rank, int* count);
Err nothing(Rank& rank, int cls);

}  // namespace weft::abi::tool
