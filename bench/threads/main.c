/* SPDX-License-Identifier: Apache-2.0 */
/* What messages cost when several threads of a rank call MPI (MPI_THREAD_MULTIPLE). Rows (see
   rows.h); the name ends in the number of threads:

     lat_Nt    ping-pong of one thread of rank 0 with N threads of rank 1, which all receive the
   same tag and answer what they got; half a round trip rate_Nt   N pairs of threads, each with a
   tag of its own: per message in windows of 64 nonblocking sends and receives; one short answer per
   window comms_Nt  the same with a communicator for each pair bw_Nt     rate_Nt in windows of 16

   `main single ...` measures lat_1t and rate_1t with MPI_THREAD_SINGLE, as lat_single, rate_single.

   Beside the times: "counts" per message of both ranks together: context switches, the time of all
   threads, and what the library counts itself (performance variables of weft by name; other
   libraries have none of them). With WEFT_STATS=1 these say where the threads' time went.
 */
#include "../pvars.h"
#include "../rows.h"

#include <pthread.h>
#include <sys/resource.h>

enum { window = 64, large_window = 16, most_threads = 64, answer_tag = 1000 };

struct worker {
  int index;
  MPI_Comm comm;
  struct bench* bench;
  uint64_t* data[window];
  uint64_t stamp;
  long errors, times;
  pthread_t thread;
};

/* The threads of a row. The calling one is the first; the others stay until the row's next size. */
static struct team {
  int threads;
  long bytes;
  int stop;
  void (*body)(struct worker*);
  struct worker worker[most_threads];
  pthread_barrier_t gate;
  int window;
  MPI_Comm comms[most_threads]; /* made when a row first wants them */
} team;

/* --- counts ---------------------------------------------------------------------------------- */
static const char* const counted[] = {
    "polls", "lock_taken", "lock_passed", "lock_in_vain", "signals",  "signals_in_vain", "servers",
    "parks", "yields",     "issue_ns",    "poll_ns",      "empty_ns", "sync_ns",         "call_ns"};
enum { pvars = sizeof counted / sizeof counted[0], switches = pvars, threads_ns, messages, kinds };

static struct {
  struct pvars vars;
  double before[kinds], sum[kinds];
} counts;

static void read_counts(double* out) {
  struct rusage usage;
  read_pvars(&counts.vars, out);
  getrusage(RUSAGE_SELF, &usage);
  out[switches] = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
  out[threads_ns] = MPI_Wtime() * 1e9;
}

static void begin_counts(struct bench* b) {
  (void)b;
  read_counts(counts.before);
}

static void end_counts(struct bench* b) {
  (void)b;
  double now[kinds];
  read_counts(now);
  for (int i = 0; i < messages; ++i)
    counts.sum[i] += (now[i] - counts.before[i]) * (i == threads_ns ? team.threads : 1);
}

static void print_counts(struct bench* b) {
  double sum[kinds];
  MPI_Reduce(counts.sum, sum, kinds, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  memset(counts.sum, 0, sizeof counts.sum);
  if (b->rank != 0) return;
  printf(", \"counts\": {\"switches\": %.4g, \"threads_ns\": %.5g", sum[switches] / sum[messages],
         sum[threads_ns] / sum[messages]);
  for (int i = 0; i < pvars; ++i) {
    if (!has_pvar(&counts.vars, i)) continue;
    if (is_time(counted[i]) && sum[i] == 0) continue; /* without WEFT_STATS=1 nobody takes them */
    printf(", \"%s\": %.4g", counted[i], sum[i] / sum[messages]);
  }
  printf("}");
}

/* --- the threads ----------------------------------------------------------------------------- */

static void touch(const struct worker* w, uint64_t* data) {
  if (!w->bench->untouched) stamp_lines(data, w->bench->bytes / 8, w->stamp);
}

static void check(struct worker* w, const uint64_t* data) {
  if (!w->bench->untouched) w->errors += wrong_lines(data, w->bench->bytes / 8, w->stamp);
}

static void ping(struct worker* w) {
  uint64_t* data = w->data[0];
  for (long i = 0; i < w->times; ++i) {
    ++w->stamp;
    touch(w, data);
    MPI_Send(data, w->bench->count, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(data, w->bench->count, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(w, data);
  }
}

static void pong(struct worker* w) {
  uint64_t* data = w->data[0];
  for (long i = 0; i < w->times; ++i) {
    MPI_Recv(data, w->bench->count, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, w->bench->count, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

static void stream(struct worker* w) {
  MPI_Request requests[window];
  const int in_flight = team.window;
  char answer = 0;
  for (long n = 0; n < w->times; ++n) {
    ++w->stamp;
    if (w->bench->rank == 0) {
      for (int i = 0; i < in_flight; ++i) {
        touch(w, w->data[i]);
        MPI_Isend(w->data[i], w->bench->count, MPI_BYTE, 1, w->index, w->comm, &requests[i]);
      }
      MPI_Waitall(in_flight, requests, MPI_STATUSES_IGNORE);
      MPI_Recv(&answer, 1, MPI_BYTE, 1, answer_tag + w->index, w->comm, MPI_STATUS_IGNORE);
    } else {
      for (int i = 0; i < in_flight; ++i)
        MPI_Irecv(w->data[i], w->bench->count, MPI_BYTE, 0, w->index, w->comm, &requests[i]);
      MPI_Waitall(in_flight, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < in_flight; ++i) check(w, w->data[i]);
      MPI_Send(&answer, 1, MPI_BYTE, 0, answer_tag + w->index, w->comm);
    }
  }
}

static void* work(void* argument) {
  struct worker* w = argument;
  for (;;) {
    pthread_barrier_wait(&team.gate);
    if (team.stop) return NULL;
    team.body(w);
    pthread_barrier_wait(&team.gate);
  }
}

static void end_team(void) {
  if (team.threads == 0) return;
  team.stop = 1;
  pthread_barrier_wait(&team.gate);
  for (int i = 1; i < team.threads; ++i) pthread_join(team.worker[i].thread, NULL);
  for (int i = 0; i < team.threads; ++i)
    for (int k = 0; k < window; ++k) free(team.worker[i].data[k]);
  pthread_barrier_destroy(&team.gate);
  memset(team.worker, 0, sizeof team.worker);
  team.threads = team.stop = 0;
}

static void begin_team(struct bench* b, int threads, int windows) {
  if (team.threads == threads && team.bytes == b->bytes && team.window == windows) {
    for (int i = 0; i < threads; ++i) team.worker[i].bench = b;
    return;
  }
  end_team();
  team.threads = threads;
  team.bytes = b->bytes;
  team.window = windows;
  pthread_barrier_init(&team.gate, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    struct worker* w = &team.worker[i];
    w->index = i;
    w->bench = b;
    for (int k = 0; k < windows; ++k) w->data[k] = allocate((size_t)b->bytes);
    if (i > 0 && pthread_create(&w->thread, NULL, work, w) != 0) {
      fprintf(stderr, "bench: cannot start thread %d of %d\n", i, threads);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

static void run_team(struct bench* b, void (*body)(struct worker*)) {
  team.body = body;
  pthread_barrier_wait(&team.gate);
  body(&team.worker[0]);
  pthread_barrier_wait(&team.gate);
  double sent = 0;
  for (int i = 0; i < team.threads; ++i) sent += (double)team.worker[i].times;
  /* Each rank counts half of what both did together. */
  counts.sum[messages] += body == stream ? sent * (team.window + 1) / 2 : sent;
  for (int i = 0; i < team.threads; ++i) {
    b->errors += team.worker[i].errors;
    team.worker[i].errors = 0;
  }
}

static void lat(struct bench* b, long times) {
  const int threads = b->rank == 0 ? 1 : b->threads;
  begin_team(b, threads, 1);
  for (int i = 0; i < threads; ++i)
    team.worker[i].times = times / threads + (i < times % threads ? 1 : 0);
  run_team(b, b->rank == 0 ? ping : pong);
}

static void windows(struct bench* b, long times, int in_flight, int own_comms) {
  begin_team(b, b->threads, in_flight);
  for (int i = 0; i < b->threads; ++i) {
    team.worker[i].times = times;
    if (own_comms && team.comms[i] == 0) MPI_Comm_dup(MPI_COMM_WORLD, &team.comms[i]);
    team.worker[i].comm = own_comms ? team.comms[i] : MPI_COMM_WORLD;
  }
  run_team(b, stream);
}
static void rate(struct bench* b, long times) {
  windows(b, times, window, 0);
}
static void comms(struct bench* b, long times) {
  windows(b, times, window, 1);
}
static void bw(struct bench* b, long times) {
  windows(b, times, large_window, 0);
}

#define ROW(what, n, count, ...)                                                             \
  {                                                                                          \
    .name = #what "_" #n "t", .batch = what, .threads = n, .ranks = 2, .per_op = count,      \
    .element = 1, .begin = begin_counts, .end = end_counts, .more = print_counts, .bytes = { \
      __VA_ARGS__                                                                            \
    }                                                                                        \
  }
#define SMALL_ROWS(n)                                                                             \
  ROW(lat, n, 2, 8, 64, 1024, 8192, 65536, 1 << 20), ROW(rate, n, (n)*window, 8, 64, 1024, 8192), \
      ROW(comms, n, (n)*window, 8, 64, 1024, 8192)
#define ROWS(n) SMALL_ROWS(n), ROW(bw, n, (n)*large_window, 65536, 1 << 20)
/* With more threads the windows of 1 MiB of both ranks would take gigabytes. */
static const struct row rows[] = {ROWS(1),  ROWS(2),        ROWS(4),       ROWS(8),
                                  ROWS(16), SMALL_ROWS(32), SMALL_ROWS(64)};

static const struct row single_rows[] = {
    {.name = "lat_single",
     .batch = lat,
     .threads = 1,
     .ranks = 2,
     .per_op = 2,
     .element = 1,
     .bytes = {8, 64, 1024, 8192}},
    {.name = "rate_single",
     .batch = rate,
     .threads = 1,
     .ranks = 2,
     .per_op = window,
     .element = 1,
     .bytes = {8, 64, 1024, 8192}},
};

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "single") == 0) {
    const int code = run_rows_with(MPI_THREAD_SINGLE, argc - 1, argv + 1, single_rows, 2);
    end_team();
    return code;
  }
  if (argc > 1 && strcmp(argv[1], "rows") == 0)
    return print_rows(single_rows, 2) + print_rows(rows, sizeof rows / sizeof rows[0]);
  counts.vars = open_pvars(counted, pvars);
  const int code =
      run_rows_with(MPI_THREAD_MULTIPLE, argc, argv, rows, sizeof rows / sizeof rows[0]);
  end_team();
  MPI_T_finalize();
  return code;
}
