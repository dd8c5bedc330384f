/* SPDX-License-Identifier: Apache-2.0 */
/* What messages cost when several threads of a rank call MPI (MPI_THREAD_MULTIPLE). Rows (see
   rows.h); the name ends in the number of threads:
     lat_Nt    ping-pong of one thread of rank 0 with N threads of rank 1, which all receive the
   same tag and answer what they got; half a round trip rate_Nt   N pairs of threads, each with a
   tag of its own: per message in windows of 64 nonblocking sends and receives; one short answer per
   window */
#include <pthread.h>

#include "../rows.h"

enum { window = 64, most_threads = 16, answer_tag = 1000 };

struct worker {
  int index;
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
} team;

static void touch(const struct worker* w, uint64_t* data) {
  const long words = w->bench->bytes / 8;
  for (long i = 0; i < words; i += line_words) data[i] = w->stamp;
  data[words - 1] = w->stamp;
}

static void check(struct worker* w, const uint64_t* data) {
  const long words = w->bench->bytes / 8;
  if (data[0] != w->stamp || data[words - 1] != w->stamp) ++w->errors;
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
  char answer = 0;
  for (long n = 0; n < w->times; ++n) {
    ++w->stamp;
    if (w->bench->rank == 0) {
      for (int i = 0; i < window; ++i) {
        touch(w, w->data[i]);
        MPI_Isend(w->data[i], w->bench->count, MPI_BYTE, 1, w->index, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
      MPI_Recv(&answer, 1, MPI_BYTE, 1, answer_tag + w->index, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      for (int i = 0; i < window; ++i)
        MPI_Irecv(w->data[i], w->bench->count, MPI_BYTE, 0, w->index, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < window; ++i) check(w, w->data[i]);
      MPI_Send(&answer, 1, MPI_BYTE, 0, answer_tag + w->index, MPI_COMM_WORLD);
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
  memset(&team, 0, sizeof team);
}

static void begin_team(struct bench* b, int threads, int windows) {
  if (team.threads == threads && team.bytes == b->bytes) {
    for (int i = 0; i < threads; ++i) team.worker[i].bench = b;
    return;
  }
  end_team();
  team.threads = threads;
  team.bytes = b->bytes;
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
  for (int i = 0; i < team.threads; ++i) {
    b->errors += team.worker[i].errors;
    team.worker[i].errors = 0;
  }
}

static void latency(struct bench* b, long times) {
  const int threads = b->rank == 0 ? 1 : b->threads;
  begin_team(b, threads, 1);
  for (int i = 0; i < threads; ++i)
    team.worker[i].times = times / threads + (i < times % threads ? 1 : 0);
  run_team(b, b->rank == 0 ? ping : pong);
}

static void rate(struct bench* b, long times) {
  begin_team(b, b->threads, window);
  for (int i = 0; i < b->threads; ++i) team.worker[i].times = times;
  run_team(b, stream);
}

#define SIZES \
  { 8, 64, 1024, 8192, 65536 }
#define LAT(n)                                                                                    \
  {                                                                                               \
    .name = "lat_" #n "t", .batch = latency, .threads = n, .ranks = 2, .per_op = 2, .element = 1, \
    .bytes = SIZES                                                                                \
  }
#define RATE(n)                                                                            \
  {                                                                                        \
    .name = "rate_" #n "t", .batch = rate, .threads = n, .ranks = 2, .per_op = (n)*window, \
    .element = 1, .bytes = SIZES                                                           \
  }
static const struct row rows[] = {LAT(1),  LAT(2),  LAT(4),  LAT(8),  LAT(16),
                                  RATE(1), RATE(2), RATE(4), RATE(8), RATE(16)};

int main(int argc, char** argv) {
  const int code =
      run_rows_with(MPI_THREAD_MULTIPLE, argc, argv, rows, sizeof rows / sizeof rows[0]);
  end_team();
  return code;
}
