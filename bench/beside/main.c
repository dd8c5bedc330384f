/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks beside busy programs (neighbours.c): the same operations without neighbours, with one to a
   CPU, and so on.

     round_trip  8 B and 64 KiB there and back, by pairs of ranks, all at once
     allreduce   one double
     exchange    each rank computes for 500 us, the last one twice as long, and then sends 8 KiB
                 around a ring
     phases      each rank computes for 1 ms, then all do 50 allreduces of one double

   Three rows of each, with the number of neighbours to a CPU behind its name: the time; and in
   place of it, in % of what all CPUs do for neighbours alone, what neighbours "got" meanwhile and
   what the ranks "computed". An operation may take a microsecond or some slices of the kernel's, so
   a batch is as many as begin in -t ms: messages say which is the last. The first batch of a row is
   not counted, then there are up to -b in about -l seconds, and at least one. "own_session": the
   launcher gave the ranks sessions of their own, among which a kernel with autogroups shares out
   its CPUs.

     neighbours 2 mpiexec -n 2 main [-b batches] [-t ms] [-l seconds] [-r row,row] */
#include "../rows.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "neighbours.h"

enum { looks = 6, look_us = 20000, compute_us = 500, reductions = 50 };

static struct {
  struct neighbours* others;
  double alone; /* chunks a second that all CPUs do for neighbours alone */
  long chunks;  /* that a CPU does in compute_us */
  uint64_t seed;
  uint64_t last; /* stamp of an exchange; 0: not known yet */
} job;

static struct neighbours* open_neighbours(void) {
  const char* name = getenv("BENCH_NEIGHBOURS");
  const int file = name != NULL ? open(name, O_RDWR) : -1;
  const off_t bytes = file >= 0 ? lseek(file, 0, SEEK_END) : 0;
  void* all = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                        : MAP_FAILED;
  if (file >= 0) close(file);
  if (all == MAP_FAILED) {
    fprintf(stderr, "beside: start the launcher by `neighbours`, which this program asks\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return all;
}

/* So far. */
static double chunks_of_neighbours(void) {
  double sum = 0;
  for (uint32_t i = 0; i < job.others->cpus * job.others->most; ++i)
    sum += (double)job.others->of[i].chunks;
  return sum;
}

/* By all ranks. */
static void let_compute(int rank, uint32_t to_a_cpu) {
  if (rank == 0) {
    job.others->to_a_cpu = to_a_cpu;
    syscall(SYS_futex, &job.others->to_a_cpu, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What neighbours do while all ranks sleep: the most of some looks. */
static void look_at_neighbours(int rank) {
  let_compute(rank, 1);
  for (int i = 0; i < looks; ++i) {
    const double before = chunks_of_neighbours(), start = MPI_Wtime();
    usleep(look_us);
    const double found = (chunks_of_neighbours() - before) / (MPI_Wtime() - start);
    if (i > 0 && found > job.alone) job.alone = found; /* the first may have begun too early */
  }
  MPI_Bcast(&job.alone, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  job.chunks = (long)(job.alone / job.others->cpus * compute_us * 1e-6);
}

static void compute(long chunks) {
  for (long i = 0; i < chunks; ++i) job.seed = work(job.seed);
}

/* An operation. `ends`: if it is up to this rank, the batch is to end; was it the last one? */
typedef int (*step)(struct bench* b, int ends);

static int round_trip(struct bench* b, int ends) {
  const int partner = b->rank ^ 1, first = b->rank < partner;
  uint64_t value = 2 * ++b->stamp + (uint64_t)ends;
  if (partner >= b->size) return 1;
  for (int sends = first, i = 0; i < 2; sends = !sends, ++i) {
    if (sends) {
      stamp_lines(b->data[0], b->bytes / 8, value);
      MPI_Send(b->data[0], b->count, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(b->data[1], b->count, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (!first) value = 2 * b->stamp + b->data[1][0] % 2;
      b->errors += wrong_lines(b->data[1], b->bytes / 8, value);
    }
  }
  return value % 2 != 0;
}

static int allreduce(struct bench* b, int ends) {
  const double end = 1 << 30, value = (double)(++b->stamp % 1024);
  const double mine = value + (b->rank == 0 && ends ? end : 0);
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const int is_last = sum >= end;
  b->errors += sum != value * b->size + (is_last ? end : 0);
  return is_last;
}

/* That rank 0 ends goes around the ring with the data, a rank each time; then all know it. */
static int exchange(struct bench* b, int ends) {
  const int right = (b->rank + 1) % b->size, left = (b->rank + b->size - 1) % b->size;
  ++b->stamp;
  if (b->rank == 0 && ends && job.last == 0) job.last = b->stamp + (uint64_t)b->size;
  compute(b->rank == b->size - 1 ? 2 * job.chunks : job.chunks);
  stamp_lines(b->data[0], b->bytes / 8, 2 * b->stamp + (job.last != 0));
  MPI_Sendrecv(b->data[0], b->count, MPI_BYTE, right, 1, b->data[1], b->count, MPI_BYTE, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const uint64_t said = b->data[1][0] % 2;
  b->errors += wrong_lines(b->data[1], b->bytes / 8, 2 * b->stamp + said);
  if (said && job.last == 0) job.last = b->stamp + (uint64_t)(b->size + 1 - b->rank);
  return b->stamp == job.last;
}

static int phases(struct bench* b, int ends) {
  int is_last = 0;
  compute(2 * job.chunks);
  for (int i = 0; i < reductions; ++i) is_last |= allreduce(b, ends);
  return is_last;
}

struct batch {
  double seconds, got; /* chunks of neighbours */
  long times;          /* operations of rank 0 */
};

static struct batch take(struct bench* b, step op, double batch_s) {
  struct batch found = {0};
  job.last = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = chunks_of_neighbours(), start = MPI_Wtime();
  do ++found.times;
  while (!op(b, MPI_Wtime() - start > batch_s));
  found.seconds = MPI_Wtime() - start;
  found.got = chunks_of_neighbours() - before;
  return found;
}

static void print_values(const struct bench* b, const char* name, const char* what, long errors,
                         const double* values, int count) {
  printf(
      "{\"row\": \"%s %u%s\", \"ranks\": %d, \"bytes\": %ld, \"errors\": %ld, "
      "\"counts\": {\"own_session\": %d}, \"us\": ",
      name, job.others->to_a_cpu, what, b->size, b->bytes, errors, getsid(0) == getpid());
  print_list(values, count);
  printf("}\n");
}

/* chunks: that all ranks compute in an operation. */
static void measure_beside(struct bench* b, const char* name, step op, double chunks,
                           const struct options* o) {
  double us[max_batches], got[max_batches], computed[max_batches], spent_s = 0;
  int batches = 0, goes_on = 1;
  long errors = 0;
  b->stamp = 0;
  b->errors = 0;
  take(b, op, o->batch_s); /* meets cold caches; clocks and the kernel's shares settle */
  while (goes_on) {
    const struct batch one = take(b, op, o->batch_s);
    us[batches] = one.seconds / (double)one.times * 1e6;
    got[batches] = 100 * one.got / (one.seconds * job.alone);
    computed[batches] = 100 * chunks * (double)one.times / (one.seconds * job.alone);
    spent_s += one.seconds;
    goes_on = ++batches < o->batches && spent_s + one.seconds < o->limit_s * 1.1;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Reduce(&b->errors, &errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (b->rank != 0) return;
  print_values(b, name, "", errors, us, batches);
  if (job.others->to_a_cpu > 0) print_values(b, name, " got", errors, got, batches);
  if (chunks > 0) print_values(b, name, " computed", errors, computed, batches);
  fflush(stdout);
}

static const struct {
  const char* name;
  step op;
  long bytes;
  int computed, more; /* in compute_us: by each rank, and by the last one beside that */
} rows[] = {{"round_trip", round_trip, 8, 0, 0},
            {"round_trip", round_trip, 65536, 0, 0},
            {"allreduce", allreduce, 8, 0, 0},
            {"exchange", exchange, 8192, 1, 1},
            {"phases", phases, 8, 2, 0}};

int main(int argc, char** argv) {
  struct options o = {11, 0.1, 0.6, 0, NULL, NULL, 0};
  struct bench b = {0};
  int option;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &b.size);
  while ((option = getopt(argc, argv, "b:t:l:r:")) != -1) {
    if (option == 'b') o.batches = atoi(optarg);
    if (option == 't') o.batch_s = atof(optarg) * 1e-3;
    if (option == 'l') o.limit_s = atof(optarg);
    if (option == 'r') o.rows = optarg;
  }
  if (o.batches < 1 || o.batches > max_batches) o.batches = max_batches;
  job.others = open_neighbours();
  for (int i = 0; i < 2; ++i) b.data[i] = allocate(65536);
  look_at_neighbours(b.rank);
  for (uint32_t n = 0; n <= job.others->most; ++n) {
    let_compute(b.rank, n);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
      if (o.rows != NULL && !listed(rows[i].name, o.rows)) continue;
      if (rows[i].op == round_trip && b.size < 2) continue;
      b.bytes = rows[i].bytes;
      b.count = (int)b.bytes;
      measure_beside(&b, rows[i].name, rows[i].op,
                     (double)(rows[i].computed * b.size + rows[i].more) * (double)job.chunks, &o);
    }
  }
  let_compute(b.rank, 0);
  for (int i = 0; i < 2; ++i) free(b.data[i]);
  MPI_Finalize();
  return 0;
}
