/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmark programs share: a table of rows, each measured for its sizes. A program prints
   one JSON object per row and size from rank 0:

     {"row": "lat", "ranks": 2, "bytes": 8, "us": [one value per batch ...], "errors": 0,
      "line_ns": [a cache line's way between the first and the last rank, before each batch and
      after the last], "work_ns": [what the same work takes the slower of these two ranks, before or
      after each batch, the longer time]}

   A sender writes a stamp into every cache line of what it sends, and a receiver checks every one,
   so that a copy moves fresh data, a message that did not arrive is noticed, and data that was left
   in another core's cache has still to come. With -u only the first operation of a size does so:
   the others move buffers that nobody writes or reads in between, as the OSU and Intel benchmarks
   do. A batch is as many operations as take about `-t` ms, timed together; a row has `-b` batches,
   or fewer if they would take longer than `-l` seconds. A row is dropped when the size before took
   longer than that for one operation.

     program [-b batches] [-t ms] [-l seconds] [-r row,row] [-m max bytes] [-s bytes,bytes] [-u]
     program rows     prints the name of each row, and the number of ranks it needs (0: any) */
#ifndef WEFT_BENCH_ROWS_H
#define WEFT_BENCH_ROWS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "distance.h"

enum { max_window = 64, max_batches = 101, line_words = 8, most_settling = 4 };

struct options {
  int batches;
  double batch_s, limit_s;
  long max_bytes;
  const char* rows;
  const char* sizes;
  int untouched;
};

/* The state of a row; every rank has its own. */
struct bench {
  int rank, size;
  int count;                  /* elements per message (bytes, or doubles for allreduce) */
  long bytes;                 /* per message */
  int window;                 /* messages in flight */
  uint64_t* data[max_window]; /* what is sent or received */
  double* result;             /* what a collective brings */
  uint64_t stamp;
  long errors;
  int untouched;                            /* leave the buffers alone from now on */
  int threads;                              /* that call MPI at once, of each rank */
  void (*batch)(struct bench*, long times); /* instead of an operation: so many at once */
  void (*begin)(struct bench*), (*end)(struct bench*); /* before and after a batch, not timed */
  void (*more)(struct bench*); /* by all ranks: rank 0 adds to the JSON object */
  struct distance* distance;
};

typedef void (*operation)(struct bench*);

/* A stamp in every cache line, and in the last word; how many of them are not there. */
static inline void stamp_lines(uint64_t* data, long words, uint64_t stamp) {
  for (long i = 0; i < words; i += line_words) data[i] = stamp;
  if (words > 0) data[words - 1] = stamp;
}
static inline long wrong_lines(const uint64_t* data, long words, uint64_t stamp) {
  long wrong = words > 0 && data[words - 1] != stamp;
  for (long i = 0; i < words; i += line_words) wrong += data[i] != stamp;
  return wrong;
}

/* Seconds until all ranks have done `times` operations; all get the same number and decide alike.
 */
static double timed(struct bench* b, operation op, long times) {
  if (b->begin != NULL) b->begin(b);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (b->batch != NULL)
    b->batch(b, times);
  else
    for (long i = 0; i < times; ++i) op(b);
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime() - start;
  if (b->end != NULL) b->end(b);
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

static void* allocate(size_t bytes) {
  void* memory = aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
  if (memory == NULL) {
    fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(memory, 0, bytes);
  return memory;
}

static void print_list(const double* values, int count) {
  for (int i = 0; i < count; ++i) printf("%s%.5g", i ? ", " : "[", values[i]);
  printf("]");
}

/* How many operations are a batch, if one takes `once` seconds. */
static long in_a_batch(const struct options* o, double once) {
  const double times = o->batch_s / (once < 1e-9 ? 1e-9 : once);
  return times < 1 ? 1 : (long)times;
}

/* Measure one row and print it; returns the seconds of one operation. */
static double measure(struct bench* b, const char* name, operation op, double per_op,
                      const struct options* o) {
  double us[max_batches], line_ns[max_batches + 1], work_ns[max_batches];
  b->errors = 0;
  b->stamp = 0;
  b->untouched = 0;
  /* Some looks: the first meets cold caches and pages, the last sets the length of a batch. */
  if (b->batch != NULL) timed(b, op, b->threads); /* starts the threads */
  double once = timed(b, op, 1);
  if (once >= o->batch_s) once = timed(b, op, 1); /* the first may have made what it needs */
  b->untouched = o->untouched;
  if (once < o->batch_s) once = timed(b, op, 8) / 8;
  if (once < o->batch_s / 64) once = timed(b, op, 64) / 64;
  long times = in_a_batch(o, once);
  /* Not counted: clocks settle, and what the first operations were slowed by ends. While that makes
     a batch too short, it gets longer. */
  for (int i = 0; i < most_settling && once * (double)times < o->limit_s / 4; ++i) {
    const double settled = timed(b, op, times) / (double)times;
    if (settled > once / 2) break;
    once = settled;
    times = in_a_batch(o, once);
  }
  const double fit = o->limit_s / (once * (double)times);
  const int batches = fit < 1 ? 1 : fit < o->batches ? (int)fit : o->batches;
  line_ns[0] = look_at_distance(b->distance);
  for (int i = 0; i < batches; ++i) {
    const double before_ns = b->distance->ended_ns;
    us[i] = timed(b, op, times) / (double)times / per_op * 1e6;
    line_ns[i + 1] = look_at_distance(b->distance);
    work_ns[i] = longer(before_ns, b->distance->began_ns);
  }

  long errors = 0;
  MPI_Reduce(&b->errors, &errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (b->rank == 0) {
    printf("{\"row\": \"%s\", \"ranks\": %d, \"bytes\": %ld, \"errors\": %ld, \"us\": ", name,
           b->size, b->bytes, errors);
    print_list(us, batches);
    printf(", \"line_ns\": ");
    print_list(line_ns, batches + 1);
    if (b->distance->line != NULL) {
      printf(", \"work_ns\": ");
      print_list(work_ns, batches);
    }
  }
  if (b->more != NULL) b->more(b);
  if (b->rank == 0) {
    printf("}\n");
    fflush(stdout);
  }
  return once;
}

struct row {
  const char* name;
  operation op;
  int ranks;   /* exactly so many, or 0 for any number */
  int window;  /* messages in flight */
  int per_op;  /* what one operation is divided by */
  int element; /* bytes of an element */
  int blocks;  /* 1: buffers have a block of so many bytes for every rank */
  long bytes[12];
  int threads; /* as in struct bench */
  void (*batch)(struct bench*, long times);
  void (*begin)(struct bench*), (*end)(struct bench*);
  void (*more)(struct bench*);
};

/* Is `name` one of the comma separated `list`? */
static int listed(const char* name, const char* list) {
  const size_t length = strlen(name);
  for (const char* at = list; (at = strstr(at, name)) != NULL; at += length)
    if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
  return 0;
}

static int size_listed(long bytes, const char* list) {
  char text[24];
  snprintf(text, sizeof text, "%ld", bytes);
  return list == NULL || listed(text, list);
}

static void run_row(const struct row* row, const struct options* o, struct distance* distance) {
  const int rank = distance->rank, size = distance->size;
  struct bench b = {.rank = rank,
                    .size = size,
                    .distance = distance,
                    .window = row->window,
                    .threads = row->threads,
                    .batch = row->batch,
                    .begin = row->begin,
                    .end = row->end,
                    .more = row->more};
  if (row->ranks != 0 && row->ranks != size) return;
  long most = 0;
  for (int i = 0; row->bytes[i] != 0; ++i)
    if (row->bytes[i] <= o->max_bytes) most = row->bytes[i];
  const size_t room = (size_t)most * (row->blocks ? (size_t)size : 1);
  for (int i = 0; i < row->window; ++i) b.data[i] = allocate(room);
  b.result = allocate(room);
  for (int i = 0; row->bytes[i] != 0 && row->bytes[i] <= most; ++i) {
    b.bytes = row->bytes[i];
    if (!size_listed(b.bytes, o->sizes)) continue;
    b.count = (int)(b.bytes / row->element);
    if (measure(&b, row->name, row->op, row->per_op, o) > o->limit_s) break;
  }
  for (int i = 0; i < row->window; ++i) free(b.data[i]);
  free(b.result);
}

static int print_rows(const struct row* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) printf("%s %d\n", rows[i].name, rows[i].ranks);
  return 0;
}

static int run_rows_with(int level, int argc, char** argv, const struct row* rows, size_t count) {
  if (argc > 1 && strcmp(argv[1], "rows") == 0) return print_rows(rows, count);
  struct options o = {11, 2e-3, 1.0, 4 << 20, NULL, NULL, 0};
  int rank, size, option, provided;
  MPI_Init_thread(&argc, &argv, level, &provided);
  if (provided < level) {
    fprintf(stderr, "bench: this library's threads may not call MPI as this program's do\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "b:t:l:r:m:s:u")) != -1) {
    if (option == 'b') o.batches = atoi(optarg);
    if (option == 't') o.batch_s = atof(optarg) * 1e-3;
    if (option == 'l') o.limit_s = atof(optarg);
    if (option == 'r') o.rows = optarg;
    if (option == 'm') o.max_bytes = atol(optarg);
    if (option == 's') o.sizes = optarg;
    if (option == 'u') o.untouched = 1;
  }
  if (o.batches < 1) o.batches = 1;
  if (o.batches > max_batches) o.batches = max_batches;
  struct distance distance = open_distance(rank, size);
  for (size_t i = 0; i < count; ++i)
    if (o.rows == NULL || listed(rows[i].name, o.rows)) run_row(&rows[i], &o, &distance);
  close_distance(&distance);
  MPI_Finalize();
  return 0;
}

static inline int run_rows(int argc, char** argv, const struct row* rows, size_t count) {
  return run_rows_with(MPI_THREAD_SINGLE, argc, argv, rows, count);
}

#endif
