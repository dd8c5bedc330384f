/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what one broadcast and one reduction move between the levels of the node, by weft's own
   counters (MPI_T): for each, lines of other ranks' data copied and folded, summed over all ranks,
   per level as `weft info` lists them. Nothing is timed.

     main [lines of a vector]

   {"row": "bcast", "vector": 1000, "copied": [...], "folded": [...]} */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_levels = 64, line_doubles = 8 };
typedef unsigned long long number;

struct counter {
  const char* name;
  MPI_T_pvar_handle handle;
  int levels;
};
static struct counter copied = {"coll_lines_copied", MPI_T_PVAR_HANDLE_NULL, 0};
static struct counter folded = {"coll_lines_folded", MPI_T_PVAR_HANDLE_NULL, 0};
static MPI_T_pvar_session session;

static int open_counter(struct counter* c) {
  int index;
  if (MPI_T_pvar_get_index(c->name, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) return 0;
  return MPI_T_pvar_handle_alloc(session, index, NULL, &c->handle, &c->levels) == MPI_SUCCESS &&
         c->levels <= most_levels && MPI_T_pvar_start(session, c->handle) == MPI_SUCCESS;
}

static void read_counter(const struct counter* c, number* into) {
  memset(into, 0, most_levels * sizeof *into);
  MPI_T_pvar_read(session, c->handle, into);
}

static void print_counter(const struct counter* c, const number* before, int rank) {
  number now[most_levels], all[most_levels];
  read_counter(c, now);
  for (int l = 0; l < c->levels; ++l) now[l] -= before[l];
  memcpy(all, now, sizeof all);
  /* By messages only: a collective between all would count itself. */
  if (rank != 0) {
    MPI_Send(now, c->levels, MPI_UNSIGNED_LONG_LONG, 0, 0, MPI_COMM_WORLD);
    return;
  }
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int from = 1; from < size; ++from) {
    MPI_Recv(now, c->levels, MPI_UNSIGNED_LONG_LONG, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int l = 0; l < c->levels; ++l) all[l] += now[l];
  }
  printf(", \"%s\": [", c->name + strlen("coll_lines_"));
  for (int l = 0; l < c->levels; ++l) printf("%s%llu", l ? ", " : "", all[l]);
  printf("]");
}

int main(int argc, char** argv) {
  int rank, provided;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int lines = argc > 1 ? atoi(argv[1]) : 1000, n = lines * line_doubles;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  if (!open_counter(&copied) || !open_counter(&folded)) {
    if (rank == 0) printf("{\"missing\": \"%s\"}\n", copied.name);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
  }
  double *mine = aligned_alloc(64, (size_t)n * sizeof *mine),
         *sum = aligned_alloc(64, (size_t)n * sizeof *sum);
  if (mine == NULL || sum == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < n; ++i) mine[i] = rank;
  for (int what = 0; what < 2; ++what) {
    number before[2][most_levels];
    read_counter(&copied, before[0]);
    read_counter(&folded, before[1]);
    if (what == 0) MPI_Bcast(mine, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (what == 1) MPI_Reduce(mine, sum, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("{\"row\": \"%s\", \"vector\": %d", what ? "reduce" : "bcast", lines);
    print_counter(&copied, before[0], rank);
    print_counter(&folded, before[1], rank);
    if (rank == 0) printf("}\n");
  }
  free(mine);
  free(sum);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
