/* SPDX-License-Identifier: Apache-2.0 */
/* What of a nonblocking operation is hidden behind a matrix product: the experiment of Denis,
   Jaeger, Taboada (COLOC 2018, sections 2.2 and 4), for two ranks. Rank 0 begins the operation,
   computes, and waits. Its partner `waits` (begins and waits at once), or `computes` as well. Each
   row is an operation, a partner, and a part:

     comm      begin and wait, nothing between
     cpu       the product alone: 200 us, and 150 us (-p) for each million bytes
     ovrl      begin, product, wait
     product   of that, the product: longer than `cpu` if somebody took the core from it

   They take turns, so that all see the same machine. Every operation's data are checked.

     program [-b samples of each part] [-p us] [-r operation,operation] [-s bytes,bytes]
     program rows */
#include "../rows.h"
#include "product.h"

enum { parts = 4, not_counted = 40 }; /* memory of the library's own is touched */
static const char* const part_names[parts] = {"comm", "cpu", "ovrl", "product"};

struct run {
  int rank, bytes;       /* of a message, or of a rank's buffer */
  double us_per_million; /* of the product */
  uint64_t *out, *in, stamp;
  long errors;
};

static int words(const struct run* r) {
  return r->bytes / 8;
}

static void begin_isend(struct run* r, MPI_Request* request) {
  if (r->rank == 0)
    MPI_Isend(r->out, r->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, request);
  else
    MPI_Irecv(r->in, r->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, request);
}
static void begin_irecv(struct run* r, MPI_Request* request) {
  if (r->rank == 0)
    MPI_Irecv(r->in, r->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, request);
  else
    MPI_Isend(r->out, r->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, request);
}
static void begin_ialltoall(struct run* r, MPI_Request* request) {
  MPI_Ialltoall(r->out, words(r) / 2, MPI_UINT64_T, r->in, words(r) / 2, MPI_UINT64_T,
                MPI_COMM_WORLD, request);
}
static void begin_iallreduce(struct run* r, MPI_Request* request) {
  MPI_Iallreduce(r->out, r->in, words(r), MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD, request);
}
static void begin_ibcast(struct run* r, MPI_Request* request) {
  MPI_Ibcast(r->rank == 0 ? r->out : r->in, words(r), MPI_UINT64_T, 0, MPI_COMM_WORLD, request);
}
static void begin_iallgather(struct run* r, MPI_Request* request) {
  MPI_Iallgather(r->out, words(r) / 2, MPI_UINT64_T, r->in, words(r) / 2, MPI_UINT64_T,
                 MPI_COMM_WORLD, request);
}

static const struct operation_row {
  const char* name;
  void (*begin)(struct run*, MPI_Request*);
  int receivers; /* bit of each rank */
} operations[] = {
    {"isend", begin_isend, 2},         {"irecv", begin_irecv, 1},
    {"ialltoall", begin_ialltoall, 3}, {"iallreduce", begin_iallreduce, 3},
    {"ibcast", begin_ibcast, 2},       {"iallgather", begin_iallgather, 3},
};
enum { all_operations = sizeof operations / sizeof *operations };
static const int all_sizes[] = {4 << 10, 64 << 10, 512 << 10, 2 << 20, 8 << 20};

/* us of one; `product`: NULL, or where the time of the computation goes. */
static double once(struct run* r, const struct operation_row* op, long times, double* product) {
  MPI_Request request;
  ++r->stamp;
  stamp_lines(r->out, words(r), r->stamp);
  stamp_lines(r->in, words(r), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (op != NULL) op->begin(r, &request);
  const double begun = MPI_Wtime();
  multiply(times);
  if (product != NULL) *product = (MPI_Wtime() - begun) * 1e6;
  if (op != NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double us = (MPI_Wtime() - start) * 1e6;
  if (op != NULL && (op->receivers >> r->rank & 1))
    r->errors += wrong_lines(r->in, words(r) - 7, r->stamp); /* halves end with no stamp */
  return us;
}

/* The same work for all libraries: longer than the operation takes, if one rank copies alone. */
static long times_for(struct run* r) {
  double least = 1e9, wanted = 200 + 1e-6 * r->us_per_million * r->bytes;
  for (int i = 0; i < 9; ++i) {
    const double us = once(r, NULL, 4, NULL) / 4;
    if (us < least) least = us;
  }
  long times = (long)(wanted / least) + 1;
  MPI_Bcast(&times, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return times;
}

static void run_row_of(struct run* r, const struct operation_row* op, int partner_computes,
                       int samples) {
  double us[parts][max_batches], spare;
  const long times = times_for(r), here = r->rank == 0 || partner_computes ? times : 0;
  for (int i = 0; i < not_counted; ++i) once(r, op, 0, NULL);
  r->errors = 0;
  for (int i = 0; i < samples; ++i) {
    us[0][i] = once(r, op, 0, NULL);
    us[1][i] = once(r, NULL, here, &spare);
    us[2][i] = once(r, op, here, &us[3][i]);
  }
  long errors = 0;
  MPI_Reduce(&r->errors, &errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int part = 0; part < parts && r->rank == 0; ++part) {
    printf("{\"row\": \"%s %s %s\", \"ranks\": 2, \"bytes\": %d, \"errors\": %ld, \"us\": ",
           op->name, partner_computes ? "computes" : "waits", part_names[part], r->bytes, errors);
    print_list(us[part], samples);
    printf("}\n");
  }
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "rows") == 0) {
    for (int i = 0; i < all_operations; ++i) printf("%s 2\n", operations[i].name);
    return 0;
  }
  int samples = 11, size, option;
  const char *rows = NULL, *sizes = NULL;
  struct run r = {.us_per_million = 150};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "b:p:r:s:")) != -1) {
    if (option == 'b') samples = atoi(optarg);
    if (option == 'p') r.us_per_million = atof(optarg);
    if (option == 'r') rows = optarg;
    if (option == 's') sizes = optarg;
  }
  if (size != 2 || samples < 1 || samples > max_batches) {
    fprintf(stderr, "progress: expected 2 ranks, and 1 to %d samples\n", max_batches);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const size_t most = 8 << 20;
  r.out = allocate(most);
  r.in = allocate(most);
  fill_matrices();
  for (int i = 0; i < all_operations; ++i)
    for (size_t s = 0; s < sizeof all_sizes / sizeof *all_sizes; ++s)
      for (int computes = 0; computes < 2; ++computes) {
        r.bytes = all_sizes[s];
        if ((rows == NULL || listed(operations[i].name, rows)) && size_listed(r.bytes, sizes))
          run_row_of(&r, &operations[i], computes, samples);
      }
  if (c[0] < 0) printf("never\n"); /* the product is needed */
  MPI_Finalize();
  return 0;
}
