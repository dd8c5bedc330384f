/* SPDX-License-Identifier: Apache-2.0
 *
 * A task farm on channels: images become gray (Buono, De Matteis, Mencagli, Vanneschi: Optimizing
 * Message-Passing on Multicore Architectures using Hardware Multi-Threading, §V.A).
 *
 *   mpiexec -n 5 farm [--images N] [--size PIXELS] [--demand] [VARIANT]
 *
 * Rank 0 is the Emitter, rank 1 the Collector, the others are Workers. Images go to the Workers in
 * turn, or (--demand) to who has the least to do. Who copies messages is the VARIANT:
 *
 *   in-place         nobody but the Emitter: Workers build results in the channel's buffer
 *   no-kt            their senders
 *   kt-w             the Emitter, and a communication thread of each Worker
 *   kt-specialized   ceil(Workers / 12) threads for the Emitter, one for every 10 Workers
 *   kt-generalized   a thread for each Worker, for all that is sent to or by anybody
 *
 * Threads are shared between ranks that are threads (mpiexec --ranks=thread); else each process has
 * its own. The Collector checks every pixel and prints the time per image (the service time).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/channel.h>

enum { emitter, collector, first_worker };
enum { different = 4, in_flight = 4, header = 64 }; /* of images; of results; bytes before pixels */

static int rank, size, images = 100, pixels = 1000, demand;
static const char* variant = "no-kt";

static int is(const char* name) {
  return strcmp(variant, name) == 0;
}

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
  if (p == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return p;
}

/* The name of the set of communication threads that a rank's sends are delegated to, and how many
   there are; NULL: none. */
static const char* threads_of(int who, int* count) {
  static char name[40];
  const int workers = size - first_worker;
  *count = 1;
  if (is("kt-generalized")) {
    *count = workers;
    return "all";
  }
  if (is("kt-specialized") && who == emitter) {
    *count = (workers + 11) / 12;
    return "emitter";
  }
  if (is("kt-specialized"))
    snprintf(name, sizeof name, "workers %d", (who - first_worker) / 10);
  else if (is("kt-w") && who != emitter)
    snprintf(name, sizeof name, "worker %d", who);
  else
    return NULL;
  return name;
}

static WEFT_Channel make(size_t bytes, const int* senders, int sender_count, const int* receivers,
                         int receiver_count) {
  int count;
  const char* threads = threads_of(rank, &count);
  WEFT_Channel channel;
  WEFT_Channel_create(MPI_COMM_WORLD,
                      &(WEFT_Channel_options){.type = MPI_BYTE,
                                              .count = (MPI_Count)bytes,
                                              .asynchrony = 1,
                                              .sender_count = sender_count,
                                              .senders = senders,
                                              .receiver_count = receiver_count,
                                              .receivers = receivers,
                                              .distribution = demand ? WEFT_CHANNEL_ON_DEMAND
                                                                     : WEFT_CHANNEL_ROUND_ROBIN,
                                              .threads = threads,
                                              .thread_count = count},
                      &channel);
  return channel;
}

static int delegates(void) {
  int count;
  return threads_of(rank, &count) != NULL;
}

static void emit(WEFT_Channel tasks, size_t n) {
  unsigned char* image[different];
  for (int i = 0; i < different; ++i) { /* the stream is in memory before it starts */
    image[i] = memory(header + 3 * n);
    draw(image[i] + header, n, i);
    memcpy(image[i], &i, sizeof i);
  }
  WEFT_Channel_request request;
  for (int i = 0; i < images; ++i)
    if (delegates())
      WEFT_Channel_send_delegated(tasks, image[i % different], &request);
    else
      WEFT_Channel_send(tasks, image[i % different]);
  WEFT_Channel_close(tasks); /* waits for what is delegated */
  for (int i = 0; i < different; ++i) free(image[i]);
}

static void work(WEFT_Channel tasks, WEFT_Channel results, size_t n) {
  unsigned char* result[in_flight];
  WEFT_Channel_request request[in_flight];
  for (int i = 0; i < in_flight; ++i) {
    result[i] = memory(header + n);
    request[i].channel = WEFT_CHANNEL_NULL;
  }
  const void* task;
  for (int at = 0;; at = (at + 1) % in_flight) {
    WEFT_Channel_receive(tasks, &task, NULL);
    if (task == NULL) break;
    void* to = result[at];
    if (is("in-place"))
      WEFT_Channel_reserve(results, &to);
    else
      WEFT_Channel_wait(&request[at]);
    memcpy(to, task, sizeof(int));
    filter((const unsigned char*)task + header, (unsigned char*)to + header, n);
    WEFT_Channel_release(tasks, task);
    if (is("in-place"))
      WEFT_Channel_commit(results, to);
    else if (delegates())
      WEFT_Channel_send_delegated(results, to, &request[at]);
    else
      WEFT_Channel_send(results, to);
  }
  WEFT_Channel_close(results);
  for (int i = 0; i < in_flight; ++i) free(result[i]);
}

static int collect(WEFT_Channel results, size_t n) {
  unsigned char* expected[different];
  unsigned char* rgb = memory(3 * n);
  for (int i = 0; i < different; ++i) {
    expected[i] = memory(n);
    draw(rgb, n, i);
    filter(rgb, expected[i], n);
  }
  free(rgb);
  const double begin = MPI_Wtime();
  const void* result;
  int got = 0, wrong = 0, which;
  for (;; ++got) {
    WEFT_Channel_receive(results, &result, NULL);
    if (result == NULL) break;
    memcpy(&which, result, sizeof which);
    wrong += memcmp((const unsigned char*)result + header, expected[which], n) != 0;
    WEFT_Channel_release(results, result);
  }
  printf("farm: %s, %d workers, %d images of %d x %d: %.3f ms each, %d missing, %d wrong\n",
         variant, size - first_worker, images, pixels, pixels, (MPI_Wtime() - begin) * 1e3 / images,
         images - got, wrong);
  for (int i = 0; i < different; ++i) free(expected[i]);
  return got != images || wrong != 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], "--images") == 0 && i + 1 < argc)
      images = atoi(argv[++i]);
    else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      pixels = atoi(argv[++i]);
    else if (strcmp(argv[i], "--demand") == 0)
      demand = 1;
    else
      variant = argv[i];
  if (size < 3 || images < 1 || pixels < 1) {
    if (rank == 0) fprintf(stderr, "farm: 3 ranks or more, at least one image of one pixel\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const size_t n = (size_t)pixels * (size_t)pixels;
  const int workers = size - first_worker;
  int* ranks = memory(sizeof(int) * (size_t)workers);
  for (int i = 0; i < workers; ++i) ranks[i] = first_worker + i;
  WEFT_Channel tasks = make(header + 3 * n, (int[]){emitter}, 1, ranks, workers);
  WEFT_Channel results = make(header + n, ranks, workers, (int[]){collector}, 1);
  int failed = 0;
  if (rank == emitter)
    emit(tasks, n);
  else if (rank == collector)
    failed = collect(results, n);
  else
    work(tasks, results, n);
  WEFT_Channel_free(&tasks);
  WEFT_Channel_free(&results);
  free(ranks);
  MPI_Finalize();
  return failed;
}
