// SPDX-License-Identifier: Apache-2.0
// One performance variable of this rank, which counts from open_counter() on.
#ifndef WEFT_TESTS_RANK_COUNTER_H
#define WEFT_TESTS_RANK_COUNTER_H

#include "check.h"

static MPI_T_pvar_session counter_session;
static MPI_T_pvar_handle counter_handle;

static inline void open_counter(const char* name, int class) {
  int provided, index = -1, count = 0;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&counter_session));
  OK(MPI_T_pvar_get_index(name, class, &index));
  OK(MPI_T_pvar_handle_alloc(counter_session, index, NULL, &counter_handle, &count));
  OK(MPI_T_pvar_start(counter_session, counter_handle));
}

static inline unsigned long long counted(void) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(counter_session, counter_handle, &value));
  return value;
}

static inline void close_counter(void) {
  OK(MPI_T_pvar_handle_free(counter_session, &counter_handle));
  OK(MPI_T_pvar_session_free(&counter_session));
  OK(MPI_T_finalize());
}

#endif
