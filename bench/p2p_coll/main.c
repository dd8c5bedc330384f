/* SPDX-License-Identifier: Apache-2.0 */
/* What messages and collectives cost. Prints one JSON object per row from rank 0:

     {"row": "lat", "ranks": 2, "bytes": 8, "us": [one value per batch ...], "errors": 0}

   lat        ping-pong between two ranks, half a round trip
   bw, rate   per message in a window of 16 or 64 nonblocking sends; one short answer per window
   barrier, allreduce (sum of doubles; the bytes are those of one rank's vector)

   A sender writes a stamp into every cache line of what it sends, and a receiver checks the first
   and last stamp, so that a copy moves fresh data and a message that did not arrive is noticed.
   A batch is as many operations as take about `-t` ms, timed together; a row has `-b` batches, or
   fewer if they would take longer than `-l` seconds. A row is dropped when the size before took
   longer than that for one operation.

     p2p_coll [-b batches] [-t ms] [-l seconds] [-r row,row] [-m max bytes] */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_window = 64, max_batches = 101, line_words = 8 };

struct options {
  int batches;
  double batch_s, limit_s;
  long max_bytes;
  const char* rows;
};

/* The state of a row; every rank has its own. */
struct bench {
  int rank, size;
  int count;                  /* elements per message (bytes, or doubles for allreduce) */
  long bytes;                 /* per message */
  int window;                 /* messages in flight */
  uint64_t* data[max_window]; /* what is sent or received */
  double* result;             /* of allreduce */
  uint64_t stamp;
  long errors;
};

typedef void (*operation)(struct bench*);

static void touch(struct bench* b, uint64_t* data) {
  const long words = b->bytes / 8;
  for (long i = 0; i < words; i += line_words) data[i] = b->stamp;
  if (words > 0) data[words - 1] = b->stamp;
}

static void check(struct bench* b, const uint64_t* data) {
  const long words = b->bytes / 8;
  if (words > 0 && (data[0] != b->stamp || data[words - 1] != b->stamp)) ++b->errors;
}

/* There and back: two messages, timed as one. */
static void ping_pong(struct bench* b) {
  ++b->stamp;
  if (b->rank == 0) {
    touch(b, b->data[0]);
    MPI_Send(b->data[0], b->count, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(b->data[0], b->count, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++b->stamp;
    check(b, b->data[0]);
  } else {
    MPI_Recv(b->data[0], b->count, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(b, b->data[0]);
    ++b->stamp;
    touch(b, b->data[0]);
    MPI_Send(b->data[0], b->count, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

static void stream(struct bench* b) {
  MPI_Request requests[max_window];
  char answer = 0;
  ++b->stamp;
  if (b->rank == 0) {
    for (int i = 0; i < b->window; ++i) {
      touch(b, b->data[i]);
      MPI_Isend(b->data[i], b->count, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(b->window, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(&answer, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < b->window; ++i)
      MPI_Irecv(b->data[i], b->count, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(b->window, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < b->window; ++i) check(b, b->data[i]);
    MPI_Send(&answer, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
  }
}

static void barrier(struct bench* b) {
  (void)b;
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Sums small whole numbers, which are exact in any order. */
static void allreduce(struct bench* b) {
  double* mine = (double*)b->data[0];
  const double value = (double)(++b->stamp % 1024);
  for (long i = 0; i < b->count; i += line_words) mine[i] = value;
  mine[b->count - 1] = value;
  MPI_Allreduce(mine, b->result, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (b->result[0] != value * b->size || b->result[b->count - 1] != value * b->size) ++b->errors;
}

/* Seconds of `times` operations on rank 0's clock; all ranks get the same and decide the same. */
static double timed(struct bench* b, operation op, long times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (long i = 0; i < times; ++i) op(b);
  double seconds = MPI_Wtime() - start;
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

static void* allocate(size_t bytes) {
  void* memory = aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
  if (memory == NULL) {
    fprintf(stderr, "p2p_coll: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(memory, 0, bytes);
  return memory;
}

/* Measure one row and print it; returns the seconds of one operation. */
static double measure(struct bench* b, const char* name, operation op, double per_op,
                      const struct options* o) {
  double us[max_batches];
  b->errors = 0;
  b->stamp = 0;
  /* Some looks: the first meets cold caches and pages, the last sets the length of a batch. */
  double once = timed(b, op, 1);
  if (once < o->batch_s) once = timed(b, op, 8) / 8;
  if (once < o->batch_s / 64) once = timed(b, op, 64) / 64;
  if (once < 1e-9) once = 1e-9;
  long times = (long)(o->batch_s / once);
  if (times < 1) times = 1;
  if (once * (double)times < o->limit_s / 4) timed(b, op, times); /* not counted: clocks settle */
  const double fit = o->limit_s / (once * (double)times);
  const int batches = fit < 1 ? 1 : fit < o->batches ? (int)fit : o->batches;
  for (int i = 0; i < batches; ++i) us[i] = timed(b, op, times) / (double)times / per_op * 1e6;

  long errors = 0;
  MPI_Reduce(&b->errors, &errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (b->rank == 0) {
    printf("{\"row\": \"%s\", \"ranks\": %d, \"bytes\": %ld, \"errors\": %ld, \"us\": [", name,
           b->size, b->bytes, errors);
    for (int i = 0; i < batches; ++i) printf("%s%.5g", i ? ", " : "", us[i]);
    printf("]}\n");
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
  long bytes[12];
};

static const struct row rows[] = {
    {"lat", ping_pong, 2, 1, 2, 1, {8, 64, 1024, 8192, 16384, 65536, 262144, 1 << 20, 4 << 20}},
    {"rate", stream, 2, 64, 64, 1, {8, 1024}},
    {"bw", stream, 2, 16, 16, 1, {16384, 65536, 262144, 1 << 20, 4 << 20}},
    {"barrier", barrier, 0, 1, 1, 8, {8}},
    {"allreduce", allreduce, 0, 1, 1, 8, {8, 1024, 16384, 65536, 1 << 20, 4 << 20}},
};

static void run_row(const struct row* row, const struct options* o, int rank, int size) {
  struct bench b = {.rank = rank, .size = size, .window = row->window};
  if (row->ranks != 0 && row->ranks != size) return;
  long most = 0;
  for (int i = 0; row->bytes[i] != 0; ++i)
    if (row->bytes[i] <= o->max_bytes) most = row->bytes[i];
  for (int i = 0; i < row->window; ++i) b.data[i] = allocate((size_t)most);
  b.result = allocate((size_t)most);
  for (int i = 0; row->bytes[i] != 0 && row->bytes[i] <= most; ++i) {
    b.bytes = row->bytes[i];
    b.count = (int)(b.bytes / row->element);
    if (measure(&b, row->name, row->op, row->per_op, o) > o->limit_s) break;
  }
  for (int i = 0; i < row->window; ++i) free(b.data[i]);
  free(b.result);
}

/* Is `name` one of the comma separated `list`? */
static int listed(const char* name, const char* list) {
  const size_t length = strlen(name);
  for (const char* at = list; (at = strstr(at, name)) != NULL; at += length)
    if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct options o = {11, 2e-3, 1.0, 4 << 20, NULL};
  int rank, size, option;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "b:t:l:r:m:")) != -1) {
    if (option == 'b') o.batches = atoi(optarg);
    if (option == 't') o.batch_s = atof(optarg) * 1e-3;
    if (option == 'l') o.limit_s = atof(optarg);
    if (option == 'r') o.rows = optarg;
    if (option == 'm') o.max_bytes = atol(optarg);
  }
  if (o.batches < 1) o.batches = 1;
  if (o.batches > max_batches) o.batches = max_batches;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (o.rows == NULL || listed(rows[i].name, o.rows)) run_row(&rows[i], &o, rank, size);
  MPI_Finalize();
  return 0;
}
