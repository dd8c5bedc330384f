// SPDX-License-Identifier: Apache-2.0
// Partitioned transfers whose messages are of several contexts, on any number of CPUs because the
// communicator's go there by tag: threads that mark different partitions do not meet at a lock,
// which is counted; each thread asks for its own partitions while others do; one thread alone waits
// for all that the others send; and requests are freed as soon as they are complete, while threads
// that marked are still on their way out.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "../counter.h"

enum { threads = 4, most_contexts = 8 };
static pthread_barrier_t turn;
static MPI_Comm comm;

// A transfer of `bytes` to the right neighbour and one from the left one, in so many partitions.
struct transfer {
  size_t bytes;
  int out_parts, in_parts, asks, pause_us, round;
  unsigned char *out, *in;
  MPI_Request request[2];
};

static unsigned char value(size_t i, int round, int from) {
  return (unsigned char)(i * 7 + i / 251 + (unsigned)round * 13 + (unsigned)from * 101);
}

static void open_transfer(struct transfer* t) {
  t->out = alloc(t->bytes);
  t->in = alloc(t->bytes);
}
static void close_transfer(struct transfer* t) {
  free(t->out);
  free(t->in);
}
static void init_transfer(struct transfer* t, int tag) {
  OK(MPI_Precv_init(t->in, t->in_parts, (MPI_Count)(t->bytes / (size_t)t->in_parts), MPI_BYTE,
                    left_of(rank), tag, comm, MPI_INFO_NULL, &t->request[0]));
  OK(MPI_Psend_init(t->out, t->out_parts, (MPI_Count)(t->bytes / (size_t)t->out_parts), MPI_BYTE,
                    right_of(rank), tag, comm, MPI_INFO_NULL, &t->request[1]));
}
static void free_transfer(struct transfer* t) {
  OK(MPI_Request_free(&t->request[0]));
  OK(MPI_Request_free(&t->request[1]));
}

static void check_bytes(const struct transfer* t, size_t at, size_t end) {
  size_t wrong = 0;
  for (size_t i = at; i < end; ++i) wrong += t->in[i] != value(i, t->round, left_of(rank));
  CHECK(wrong == 0, "round %d, %zu bytes in %d partitions from %d: %zu of [%zu, %zu) are wrong",
        t->round, t->bytes, t->in_parts, t->out_parts, wrong, at, end);
}

struct worker {
  struct transfer* t;
  int number;
};

static void* work(void* argument) {
  const struct worker* w = argument;
  const struct transfer* t = w->t;
  const size_t out = t->bytes / (size_t)t->out_parts, in = t->bytes / (size_t)t->in_parts;
  for (int p = w->number; p < t->out_parts; p += threads) {
    for (size_t i = out * (size_t)p; i < out * (size_t)(p + 1); ++i)
      t->out[i] = value(i, t->round, rank);
    if (t->pause_us > 0) usleep((unsigned)t->pause_us);
    OK(MPI_Pready(p, t->request[1]));
  }
  for (int p = w->number; p < t->in_parts && t->asks; p += threads) {
    int arrived = 0;
    while (!arrived) {
      OK(MPI_Parrived(t->request[0], p, &arrived));
      if (!arrived) sched_yield();
    }
    check_bytes(t, in * (size_t)p, in * (size_t)(p + 1));
  }
  return NULL;
}

static void begin_work(struct transfer* t, struct worker* w, pthread_t* id) {
  for (int i = 0; i < threads; ++i) {
    w[i] = (struct worker){t, i};
    if (pthread_create(&id[i], NULL, work, &w[i])) DIE("cannot make a thread");
  }
}
static void end_work(const pthread_t* id) {
  for (int i = 0; i < threads; ++i) pthread_join(id[i], NULL);
}

// Complete both, each round in another way.
static void complete(struct transfer* t) {
  int flag = 0, index = 0;
  switch (t->round % 4) {
    case 0:
      OK(MPI_Waitall(2, t->request, MPI_STATUSES_IGNORE));
      return;
    case 1:
      OK(MPI_Wait(&t->request[0], MPI_STATUS_IGNORE));
      OK(MPI_Wait(&t->request[1], MPI_STATUS_IGNORE));
      return;
    case 2:
      while (!flag) OK(MPI_Testall(2, t->request, &flag, MPI_STATUSES_IGNORE));
      return;
    default:
      for (int i = 0; i < 2; ++i) OK(MPI_Waitany(2, t->request, &index, MPI_STATUS_IGNORE));
  }
}

// Partitions asked for by many threads (`asks`), or nothing but a wait.
static void rounds(size_t bytes, int out_parts, int in_parts, int asks, int pause_us) {
  struct transfer t = {.bytes = bytes,
                       .out_parts = out_parts,
                       .in_parts = in_parts,
                       .asks = asks,
                       .pause_us = pause_us};
  open_transfer(&t);
  init_transfer(&t, 1);
  for (t.round = 0; t.round < 8; ++t.round) {
    struct worker w[threads];
    pthread_t id[threads];
    memset(t.in, 0, bytes);
    OK(MPI_Startall(2, t.request));
    begin_work(&t, w, id);
    if (asks) end_work(id);  // each has seen its own
    complete(&t);
    check_bytes(&t, 0, bytes);
    if (!asks) end_work(id);
  }
  free_transfer(&t);
  close_transfer(&t);
}

// Two transfers at a time, freed at once; who marked may not have returned.
static void free_at_once(size_t bytes, int parts) {
  struct transfer t[2];
  for (int k = 0; k < 2; ++k) {
    t[k] = (struct transfer){.bytes = bytes, .out_parts = parts, .in_parts = parts / 2};
    open_transfer(&t[k]);
  }
  for (int round = 0; round < 8; ++round) {
    struct worker w[2][threads];
    pthread_t id[2][threads];
    for (int k = 0; k < 2; ++k) {
      t[k].round = round;
      init_transfer(&t[k], k);
      OK(MPI_Startall(2, t[k].request));
      begin_work(&t[k], w[k], id[k]);
    }
    for (int k = 0; k < 2; ++k) {
      complete(&t[k]);
      free_transfer(&t[k]);
      check_bytes(&t[k], 0, bytes);
    }
    for (int k = 0; k < 2; ++k) end_work(id[k]);
  }
  for (int k = 0; k < 2; ++k) close_transfer(&t[k]);
}

// Threads in turn mark a partition each, which is a message; nobody else calls MPI.
static void* mark_in_turn(void* argument) {
  const struct worker* w = argument;
  for (int p = 0; p < w->t->out_parts; ++p) {
    if (p % threads == w->number) OK(MPI_Pready(p, w->t->request[1]));
    pthread_barrier_wait(&turn);
  }
  return NULL;
}

static void count_passing(int contexts) {
  enum { partitions = 64, times = 4 };
  struct transfer t = {
      .bytes = (size_t)partitions << 14, .out_parts = partitions, .in_parts = partitions};
  open_transfer(&t);
  init_transfer(&t, 2);
  uint64_t least = UINT64_MAX;
  for (t.round = 0; t.round < times; ++t.round) {
    struct worker w[threads];
    pthread_t id[threads];
    for (size_t i = 0; i < t.bytes; ++i) t.out[i] = value(i, t.round, rank);
    OK(MPI_Startall(2, t.request));
    const uint64_t before = counted();
    for (int i = 0; i < threads; ++i) {
      w[i] = (struct worker){&t, i};
      if (pthread_create(&id[i], NULL, mark_in_turn, &w[i])) DIE("cannot make a thread");
    }
    end_work(id);
    const uint64_t passed = counted() - before;
    if (passed < least) least = passed;
    complete(&t);
    check_bytes(&t, 0, t.bytes);
  }
  free_transfer(&t);
  close_transfer(&t);
  // A context's lock passes to its thread and to the one that reads the counters. With one for all
  // it passes at each turn.
  if (contexts >= threads)
    CHECK(least <= 2 * most_contexts, "the locks passed %llu times, expected %d at most",
          (unsigned long long)least, 2 * most_contexts);
  if (contexts == 1)
    CHECK(least >= partitions - 1, "the lock passed %llu times, expected %d",
          (unsigned long long)least, partitions - 1);
}

int main(int argc, char** argv) {
  int provided = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  open_counter("lock_passed", MPI_T_PVAR_CLASS_COUNTER);
  const char* text = getenv("WEFT_PT2PT_CONTEXTS");
  pthread_barrier_init(&turn, NULL, threads);
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Info_free(&info));
  rounds(1 << 20, 8, 8, 0, 0);  // before a second thread has called
  count_passing(text != NULL ? atoi(text) : most_contexts);
  for (int asks = 0; asks < 2; ++asks) {
    rounds(48, 48, 4, asks, 0);
    rounds(240000, 240, 16, asks, 0);
    rounds(240000, 16, 240, asks, 0);
    rounds(720720, 9, 14, asks, 0);
    rounds(4 << 20, 16, 1, asks, 0);
    rounds(4 << 20, 1, 16, asks, 0);
  }
  rounds(240000, 16, 8, 0, 500);
  rounds(4 << 20, 8, 8, 0, 2000);
  free_at_once(160000, 8);
  free_at_once(1 << 20, 8);
  OK(MPI_Comm_free(&comm));
  close_counter();
  return finish();
}
