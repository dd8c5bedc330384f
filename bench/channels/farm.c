/* SPDX-License-Identifier: Apache-2.0 */
/* The farm of examples/farm without channels: images become gray, an Emitter, Workers, a Collector.

     mpiexec -n 5 farm [--images N] [--size PIXELS] mpi     by messages, any MPI
     farm [--images N] [--size PIXELS] shared WORKERS       threads of a process, queues of pointers

   Ranks send nonblocking, two messages under way each, and receive ahead, so that copies and work
   overlap as far as the library can. The line that is printed is that of the example. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { different = 4, header = 64, ahead = 2 }; /* images; bytes before pixels; messages */
static int images = 100, pixels = 1000, workers;

static unsigned char gray(const unsigned char* rgb) {
  return (unsigned char)((77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8);
}
static void filter(const unsigned char* rgb, unsigned char* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = gray(rgb + 3 * i);
}
static void draw(unsigned char* rgb, size_t n, int which) {
  for (size_t i = 0; i < 3 * n; ++i)
    rgb[i] = (unsigned char)(i * 7 + i / 4099 + (size_t)which * 91);
}
static void* memory(size_t bytes) {
  void* p = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (p == NULL) abort();
  return memset(p, 0, bytes);
}
static unsigned char* image(size_t n, int which) {
  unsigned char* made = memory(header + 3 * n);
  draw(made + header, n, which);
  memcpy(made, &which, sizeof which);
  return made;
}

/* What the results must be; the time begins when it is known. */
struct expected {
  unsigned char* gray[different];
  double begin;
  int got, wrong;
};
static struct expected expect(size_t n) {
  struct expected e = {.got = 0};
  for (int i = 0; i < different; ++i) {
    unsigned char* rgb = image(n, i);
    e.gray[i] = memory(n);
    filter(rgb + header, e.gray[i], n);
    free(rgb);
  }
  e.begin = MPI_Wtime();
  return e;
}
static void look(struct expected* e, const unsigned char* result, size_t n) {
  int which;
  memcpy(&which, result, sizeof which);
  ++e->got;
  e->wrong += memcmp(result + header, e->gray[which], n) != 0;
}
static int report(const struct expected* e, const char* way) {
  printf("farm: %s, %d workers, %d images of %d x %d: %.3f ms each, %d missing, %d wrong\n", way,
         workers, images, pixels, pixels, (MPI_Wtime() - e->begin) * 1e3 / images, images - e->got,
         e->wrong);
  return e->got != images || e->wrong != 0;
}
/* Of a worker: every so many, from `first`. */
static int share(int worker) {
  return images / workers + (worker < images % workers);
}

/* --- messages: rank 0 emits, rank 1 collects */

static void emit(size_t n) {
  unsigned char* task[different];
  MPI_Request sent[ahead];
  for (int i = 0; i < different; ++i) task[i] = image(n, i);
  for (int i = 0; i < ahead; ++i) sent[i] = MPI_REQUEST_NULL;
  for (int i = 0; i < images; ++i) {
    MPI_Wait(&sent[i % ahead], MPI_STATUS_IGNORE);
    MPI_Isend(task[i % different], (int)(header + 3 * n), MPI_BYTE, 2 + i % workers, 1,
              MPI_COMM_WORLD, &sent[i % ahead]);
  }
  MPI_Waitall(ahead, sent, MPI_STATUSES_IGNORE);
}

static void work(int worker, size_t n) {
  unsigned char *task[ahead], *result[ahead];
  MPI_Request received[ahead], sent[ahead];
  const int mine = share(worker);
  for (int i = 0; i < ahead; ++i) {
    task[i] = memory(header + 3 * n);
    result[i] = memory(header + n);
    sent[i] = received[i] = MPI_REQUEST_NULL;
    if (i < mine)
      MPI_Irecv(task[i], (int)(header + 3 * n), MPI_BYTE, 0, 1, MPI_COMM_WORLD, &received[i]);
  }
  for (int i = 0; i < mine; ++i) {
    const int at = i % ahead;
    MPI_Wait(&received[at], MPI_STATUS_IGNORE);
    MPI_Wait(&sent[at], MPI_STATUS_IGNORE);
    memcpy(result[at], task[at], sizeof(int));
    filter(task[at] + header, result[at] + header, n);
    if (i + ahead < mine)
      MPI_Irecv(task[at], (int)(header + 3 * n), MPI_BYTE, 0, 1, MPI_COMM_WORLD, &received[at]);
    MPI_Isend(result[at], (int)(header + n), MPI_BYTE, 1, 2, MPI_COMM_WORLD, &sent[at]);
  }
  MPI_Waitall(ahead, sent, MPI_STATUSES_IGNORE);
}

static int collect(size_t n) {
  unsigned char* result[ahead];
  MPI_Request received[ahead];
  struct expected e = expect(n);
  for (int i = 0; i < ahead; ++i) {
    result[i] = memory(header + n);
    received[i] = MPI_REQUEST_NULL;
    if (i < images)
      MPI_Irecv(result[i], (int)(header + n), MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                &received[i]);
  }
  for (int i = 0; i < images; ++i) {
    const int at = i % ahead;
    MPI_Wait(&received[at], MPI_STATUS_IGNORE);
    look(&e, result[at], n);
    if (i + ahead < images)
      MPI_Irecv(result[at], (int)(header + n), MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                &received[at]);
  }
  return report(&e, "mpi");
}

/* --- shared memory: a queue of pointers from one thread to another; who waits yields */

struct queue {
  _Alignas(64) atomic_long put;   /* by the writer */
  _Alignas(64) atomic_long taken; /* by the reader */
  _Alignas(64) void* items[ahead];
};
static struct team {
  struct queue *tasks, *results; /* of each worker */
  unsigned char* task[different];
  size_t n;
} team;

static void push(struct queue* q, void* item) {
  const long at = atomic_load_explicit(&q->put, memory_order_relaxed);
  while (at - atomic_load_explicit(&q->taken, memory_order_acquire) == ahead) sched_yield();
  q->items[at % ahead] = item;
  atomic_store_explicit(&q->put, at + 1, memory_order_release);
}
static void* front(struct queue* q) {
  const long at = atomic_load_explicit(&q->taken, memory_order_relaxed);
  while (atomic_load_explicit(&q->put, memory_order_acquire) == at) sched_yield();
  return q->items[at % ahead];
}
static void pop(struct queue* q) {
  atomic_fetch_add_explicit(&q->taken, 1, memory_order_release);
}

static void* emit_pointers(void* nothing) {
  for (int i = 0; i < images; ++i) push(&team.tasks[i % workers], team.task[i % different]);
  return nothing;
}
static void* work_on_pointers(void* number) {
  const int worker = (int)(long)number, mine = share(worker);
  unsigned char* result[ahead + 1]; /* one more than the Collector may have */
  for (int i = 0; i <= ahead; ++i) result[i] = memory(header + team.n);
  for (int i = 0; i < mine; ++i) {
    const unsigned char* task = front(&team.tasks[worker]);
    unsigned char* to = result[i % (ahead + 1)];
    memcpy(to, task, sizeof(int));
    filter(task + header, to + header, team.n);
    pop(&team.tasks[worker]);
    push(&team.results[worker], to);
  }
  return NULL;
}
static int farm_of_threads(size_t n) {
  pthread_t* thread = memory(sizeof *thread * (size_t)(workers + 1));
  team.n = n;
  team.tasks = memory(sizeof *team.tasks * (size_t)workers);
  team.results = memory(sizeof *team.results * (size_t)workers);
  for (int i = 0; i < different; ++i) team.task[i] = image(n, i);
  struct expected e = expect(n);
  pthread_create(&thread[workers], NULL, emit_pointers, NULL);
  for (long w = 0; w < workers; ++w) pthread_create(&thread[w], NULL, work_on_pointers, (void*)w);
  for (int i = 0; i < images; ++i) {
    struct queue* from = &team.results[i % workers];
    look(&e, front(from), n);
    pop(from);
  }
  for (int i = 0; i <= workers; ++i) pthread_join(thread[i], NULL);
  return report(&e, "shared");
}

int main(int argc, char** argv) {
  int rank, size, by_threads = 0, failed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  workers = size - 2;
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], "--images") == 0 && i + 1 < argc)
      images = atoi(argv[++i]);
    else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      pixels = atoi(argv[++i]);
    else if (strcmp(argv[i], "shared") == 0 && i + 1 < argc)
      by_threads = workers = atoi(argv[++i]);
  const size_t n = (size_t)pixels * (size_t)pixels;
  if (workers < 1 || images < 1 || pixels < 1) {
    fprintf(stderr, "farm: 3 ranks or more, or shared WORKERS; at least one image of one pixel\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (by_threads)
    failed = farm_of_threads(n);
  else if (rank == 0)
    emit(n);
  else if (rank == 1)
    failed = collect(n);
  else
    work(rank - 2, n);
  MPI_Finalize();
  return failed;
}
