/* SPDX-License-Identifier: Apache-2.0 */
/* What a library counts itself: performance variables by name (weft's; other libraries have none of
   these names). Each rank reads its own. */
#ifndef WEFT_BENCH_PVARS_H
#define WEFT_BENCH_PVARS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* as in rows.h */
#endif
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { most_pvars = 32 };

struct pvars {
  int count;
  const char* const* name;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle[most_pvars]; /* MPI_T_PVAR_HANDLE_NULL: not known here */
};

static inline int is_time(const char* name) {
  return strstr(name, "_ns") != NULL;
}

/* By weft's names. */
static inline int class_of(const char* name) {
  if (is_time(name)) return MPI_T_PVAR_CLASS_TIMER;
  return strstr(name, "bytes") != NULL ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER;
}

static inline struct pvars open_pvars(const char* const* names, int count) {
  struct pvars p = {.count = count, .name = names};
  int provided, index, elements;
  for (int i = 0; i < count; ++i) p.handle[i] = MPI_T_PVAR_HANDLE_NULL;
  if (MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return p;
  MPI_T_pvar_session_create(&p.session);
  for (int i = 0; i < count; ++i) {
    if (MPI_T_pvar_get_index(names[i], class_of(names[i]), &index) != MPI_SUCCESS) continue;
    MPI_T_pvar_handle_alloc(p.session, index, NULL, &p.handle[i], &elements);
    MPI_T_pvar_start(p.session, p.handle[i]);
  }
  return p;
}

static inline int has_pvar(const struct pvars* p, int i) {
  return p->handle[i] != MPI_T_PVAR_HANDLE_NULL;
}

static inline void read_pvars(const struct pvars* p, double* out) {
  for (int i = 0; i < p->count; ++i) {
    unsigned long long value = 0;
    if (has_pvar(p, i)) MPI_T_pvar_read(p->session, p->handle[i], &value);
    out[i] = (double)value;
  }
}

/* What one rank or all of them counted since `before`, each divided by `times`, as JSON: by rank 0,
   after ", ". Called by all ranks of MPI_COMM_WORLD. */
static inline void print_pvars(const struct pvars* p, const double* before, double times) {
  double now[most_pvars], sum[most_pvars];
  int rank, first = 1;
  read_pvars(p, now);
  for (int i = 0; i < p->count; ++i) now[i] -= before[i];
  MPI_Reduce(now, sum, p->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  printf(", \"counts\": {");
  for (int i = 0; i < p->count; ++i) {
    if (!has_pvar(p, i)) continue;
    printf("%s\"%s\": %.4g", first ? "" : ", ", p->name[i], sum[i] / times);
    first = 0;
  }
  printf("}");
}

#endif
