/* SPDX-License-Identifier: Apache-2.0 */
/* One buffer that 8 threads of rank 0 fill and 8 threads of rank 1 read, each an eighth. Rows (see
   rows.h), all for the whole transfer:

     partitioned  a partitioned send and receive of 8 partitions; each thread marks its own, and
                  reads its own when it has arrived
     sends        8 messages, each sent and received by a thread
     one_send     a barrier of the threads, then one message of all

   The receiver says when it has read all; a transfer lasts until then. */
#include "../rows.h"

#include <pthread.h>
#include <sched.h>

enum { threads = 8, answer_tag = 100 };

static struct team {
  int started;
  struct bench* bench;
  long times;
  void (*body)(int thread);
  pthread_barrier_t gate, phase;
  pthread_t id[threads];
  long errors[threads];
  MPI_Request request;
} team;

static long share(void) {
  return team.bench->bytes / 8 / threads; /* words */
}
static uint64_t* part(int thread) {
  return team.bench->data[0] + share() * thread;
}

static void write_part(int thread, uint64_t stamp) {
  stamp_lines(part(thread), share(), stamp + (uint64_t)thread);
}
static void read_part(int thread, uint64_t stamp) {
  team.errors[thread] += wrong_lines(part(thread), share(), stamp + (uint64_t)thread);
}

/* All threads of the rank have come here. */
static void meet(void) {
  pthread_barrier_wait(&team.phase);
}

static void answer(int thread) {
  char word = 0;
  if (thread != 0) return;
  if (team.bench->rank == 0)
    MPI_Recv(&word, 1, MPI_BYTE, 1, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(&word, 1, MPI_BYTE, 0, answer_tag, MPI_COMM_WORLD);
}

/* Each thread looks after the partition that it reads; there are more threads than cores. */
static void await_part(int thread) {
  int arrived = 0;
  while (MPI_Parrived(team.request, thread, &arrived), !arrived) sched_yield();
}

static void partitioned(int thread) {
  const uint64_t first = team.bench->stamp;
  for (long i = 0; i < team.times; ++i) {
    const uint64_t stamp = first + (uint64_t)i;
    if (thread == 0) MPI_Start(&team.request);
    meet(); /* it has started */
    if (team.bench->rank == 0) {
      write_part(thread, stamp);
      MPI_Pready(thread, team.request);
    } else {
      await_part(thread);
      read_part(thread, stamp);
    }
    if (thread == 0) MPI_Wait(&team.request, MPI_STATUS_IGNORE);
    meet();
    answer(thread);
  }
}

static void sends(int thread) {
  const uint64_t first = team.bench->stamp;
  const int bytes = (int)(share() * 8);
  for (long i = 0; i < team.times; ++i) {
    const uint64_t stamp = first + (uint64_t)i;
    meet();
    if (team.bench->rank == 0) {
      write_part(thread, stamp);
      MPI_Send(part(thread), bytes, MPI_BYTE, 1, thread, MPI_COMM_WORLD);
    } else {
      MPI_Recv(part(thread), bytes, MPI_BYTE, 0, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      read_part(thread, stamp);
    }
    meet();
    answer(thread);
  }
}

static void one_send(int thread) {
  const uint64_t first = team.bench->stamp;
  const int bytes = (int)team.bench->bytes;
  for (long i = 0; i < team.times; ++i) {
    const uint64_t stamp = first + (uint64_t)i;
    if (team.bench->rank == 0) {
      write_part(thread, stamp);
      meet();
      if (thread == 0) MPI_Send(part(0), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
      if (thread == 0) MPI_Recv(part(0), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      meet();
      read_part(thread, stamp);
    }
    meet();
    answer(thread);
  }
}

static void* work(void* number) {
  const int thread = (int)(intptr_t)number;
  for (;;) {
    pthread_barrier_wait(&team.gate);
    if (team.body == NULL) return NULL;
    team.body(thread);
    pthread_barrier_wait(&team.gate);
  }
}

static void start_team(void) {
  if (team.started) return;
  team.started = 1;
  pthread_barrier_init(&team.gate, NULL, threads);
  pthread_barrier_init(&team.phase, NULL, threads);
  for (int i = 1; i < threads; ++i)
    if (pthread_create(&team.id[i], NULL, work, (void*)(intptr_t)i) != 0) {
      fprintf(stderr, "bench: cannot start thread %d of %d\n", i, threads);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void end_team(void) {
  if (!team.started) return;
  team.body = NULL;
  pthread_barrier_wait(&team.gate);
  for (int i = 1; i < threads; ++i) pthread_join(team.id[i], NULL);
}

static void run(struct bench* b, long times, void (*body)(int thread)) {
  start_team();
  team.bench = b;
  team.times = times;
  team.body = body;
  pthread_barrier_wait(&team.gate);
  body(0);
  pthread_barrier_wait(&team.gate);
  b->stamp += (uint64_t)times;
  for (int i = 0; i < threads; ++i) {
    b->errors += team.errors[i];
    team.errors[i] = 0;
  }
}

static void run_partitioned(struct bench* b, long times) {
  const MPI_Count each = b->bytes / threads;
  if (b->rank == 0)
    MPI_Psend_init(b->data[0], threads, each, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &team.request);
  else
    MPI_Precv_init(b->data[0], threads, each, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &team.request);
  run(b, times, partitioned);
  MPI_Request_free(&team.request);
}
static void run_sends(struct bench* b, long times) {
  run(b, times, sends);
}
static void run_one_send(struct bench* b, long times) {
  run(b, times, one_send);
}

#define ROW(row_name)                                                                        \
  {                                                                                          \
    .name = #row_name, .batch = run_##row_name, .threads = threads, .ranks = 2, .window = 1, \
    .per_op = 1, .element = 1, .bytes = {                                                    \
      64 << 10,                                                                              \
      1 << 20,                                                                               \
      16 << 20                                                                               \
    }                                                                                        \
  }
static const struct row rows[] = {ROW(partitioned), ROW(sends), ROW(one_send)};

int main(int argc, char** argv) {
  const int code =
      run_rows_with(MPI_THREAD_MULTIPLE, argc, argv, rows, sizeof rows / sizeof rows[0]);
  end_team();
  return code;
}
