// SPDX-License-Identifier: Apache-2.0
// MPI called where other OpenMP threads may be idle: in each context a plane is packed until some
// of it was done by another thread (or some tries have passed, where that is not to be had), and
// the bytes are compared each time. Prints a line "context helped|alone" for each; two ranks begin
// in different contexts. A test that hangs is found by its driver.
//
//   contexts [-e]     -e: where help is expected, wait for it, for up to 20 s, else fail
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 1 << 19, stride = 3 };
static int rank, size, failures, expect;
static double *spread, *packed;
static long regions;
static MPI_Datatype type;
static omp_lock_t lock;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

static unsigned long long given(void) {
  unsigned long long value = 0;
  MPI_T_pvar_read(session, handle, &value);
  return value;
}

static void pack(void) {
  int position = 0;
  memset(packed, 0, n * 8);
  MPI_Pack(spread, 1, type, packed, n * 8, &position, MPI_COMM_SELF);
  for (int i = 0; i < n; ++i)
    if (packed[i] != spread[i * stride]) {
      fprintf(stderr, "rank %d: element %d is %g, expected %g\n", rank, i, packed[i],
              spread[i * stride]);
      ++failures;
      return;
    }
}

static void outside(void) {
#pragma omp parallel
#pragma omp atomic
  ++regions;
  pack();
}
static void single(void) {
#pragma omp parallel
#pragma omp single
  pack();
}
static void master(void) {
#pragma omp parallel
  {
#pragma omp master
    pack();
#pragma omp barrier
  }
}
static void single_nowait(void) {
#pragma omp parallel
  {
#pragma omp single nowait
    pack();
#pragma omp barrier
  }
}
static void critical(void) {
#pragma omp parallel
#pragma omp critical
  pack();
}
static void named_criticals(void) {
#pragma omp parallel
#pragma omp critical(outer)
  {
#pragma omp critical(inner)
    pack();
  }
}
static void task(void) {
#pragma omp parallel
#pragma omp single
#pragma omp task
  pack();
}
// A task waits for a lock that its maker holds in MPI: whoever runs it there waits for ever.
static void task_wants_lock(void) {
#pragma omp parallel
#pragma omp single
  {
    omp_set_lock(&lock);
#pragma omp task
    {
      omp_set_lock(&lock);
      omp_unset_lock(&lock);
    }
    pack();
    omp_unset_lock(&lock);
  }
}
static void for_nowait(void) {
#pragma omp parallel
  {
#pragma omp for nowait schedule(static)
    for (int i = 0; i < omp_get_num_threads(); ++i)
      if (i == 0) pack();
#pragma omp barrier
  }
}
static void for_dynamic(void) {
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < 2; ++i)
    if (i == 0) pack();
}
static void sections(void) {
#pragma omp parallel sections
  {
#pragma omp section
    pack();
#pragma omp section
    (void)0;
  }
}
static void ordered(void) {
#pragma omp parallel for ordered schedule(static, 1)
  for (int i = 0; i < 4; ++i)
#pragma omp ordered
    if (i == 0) pack();
}
static void nested(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp parallel num_threads(2)
#pragma omp single
    pack();
  }
}
static void serialized(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp parallel num_threads(1)
    pack();
  }
}
static void cancelled(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp task
      {
        pack();
#pragma omp cancel taskgroup
      }
    }
  }
}
static void in_final(void) {
#pragma omp parallel
#pragma omp single
#pragma omp task final(1)
  pack();
}
static void teams(void) {
#pragma omp teams num_teams(1)
#pragma omp parallel
#pragma omp single
  pack();
}

struct context {
  const char* name;
  void (*run)(void);
  int helped;  // is help to be had?
};
static const struct context contexts[] = {
    {"outside", outside, 1},
    {"single", single, 1},
    {"master", master, 1},
    {"single_nowait", single_nowait, 1},
    {"critical", critical, 1},
    {"named_criticals", named_criticals, 1},
    {"task", task, 1},
    {"task_wants_lock", task_wants_lock, 0},
    {"for_nowait", for_nowait, 1},
    {"for_dynamic", for_dynamic, 1},
    {"sections", sections, 1},
    {"ordered", ordered, 0},
    {"nested", nested, 0},
    {"serialized", serialized, 0},
    {"cancelled", cancelled, 1},
    {"in_final", in_final, 0},
    {"teams", teams, 0},
};
enum { count = sizeof contexts / sizeof contexts[0] };

static void run(const struct context* context) {
  const unsigned long long before = given();
  const double start = MPI_Wtime();
  int tries = 0, helped = 0;
  while (tries < 10 || (expect && context->helped && !helped && MPI_Wtime() - start < 20)) {
    context->run();
    ++tries;
    helped = given() > before;
    if (helped && tries >= 10) break;
  }
  if (expect && context->helped && !helped) {
    fprintf(stderr, "rank %d: nobody helped in %s\n", rank, context->name);
    ++failures;
  }
  if (rank == 0) printf("%s %s\n", context->name, helped ? "helped" : "alone");
}

int main(int argc, char** argv) {
  int provided, index, elements, all;
  setvbuf(stdout, NULL, _IOLBF, 0);
  expect = argc > 1 && strcmp(argv[1], "-e") == 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_get_index("chunks_given", MPI_T_PVAR_CLASS_COUNTER, &index);
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &elements);
  MPI_T_pvar_start(session, handle);
  spread = malloc(sizeof(double) * n * stride);
  packed = malloc(sizeof(double) * n);
  for (int i = 0; i < n * stride; ++i) spread[i] = i + rank;
  MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  omp_init_lock(&lock);
  omp_set_max_active_levels(2);
  for (int i = 0; i < count; ++i) run(&contexts[(i + rank * 5) % count]);
  MPI_Type_free(&type);
  MPI_T_pvar_handle_free(session, &handle);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (all == 0 && rank == 0) printf("ok\n");
  return all != 0;
}
