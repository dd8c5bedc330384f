/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a message takes from one rank to another, and how many a second there are: through a
 * channel (sent from a buffer, or built in place), or by MPI_Send and MPI_Recv.
 *
 *   messages KIND BYTES [SECONDS]      KIND: channel, in-place, mpi
 *
 * Two ranks. `latency`: half of a round trip. `stream`: time per message when rank 0 sends on and
 * on (k = 4) and rank 1 answers every 1000th. In both the sender writes every message and the
 * receiver reads it: all of it ("touched", as a program would), or neither does ("bare"). Prints:
 * KIND BYTES latency_bare_ns latency_touched_ns stream_bare_ns stream_touched_ns: the median of 15
 * parts each.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_CHANNELS
#include <weft/channel.h>
static WEFT_Channel to, from;
#endif

enum { by_mpi, by_channel, in_place };
static int kind, rank, touched;
static size_t bytes;
static char *out, *in;
static volatile uint64_t seen;
static uint64_t stamp;

static void write_message(char* p) {
  if (!touched) return;
  ++stamp;
  uint64_t* words = (uint64_t*)p;
  for (size_t i = 0; i < bytes / 8; ++i) words[i] = stamp + i;
}
static void read_message(const char* p) {
  if (!touched) return;
  const uint64_t* words = (const uint64_t*)p;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / 8; ++i) sum += words[i];
  seen = sum;
}

static void send_one(void) {
#ifdef WITH_CHANNELS
  if (kind == in_place) {
    void* place;
    WEFT_Channel_reserve(to, &place);
    write_message(place);
    WEFT_Channel_commit(to, place);
    return;
  }
  if (kind == by_channel) {
    write_message(out);
    WEFT_Channel_send(to, out);
    return;
  }
#endif
  write_message(out);
  MPI_Send(out, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
}

static void receive_one(void) {
#ifdef WITH_CHANNELS
  if (kind != by_mpi) {
    const void* message;
    WEFT_Channel_receive(from, &message, NULL);
    read_message(message);
    WEFT_Channel_release(from, message);
    return;
  }
#endif
  MPI_Recv(in, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  read_message(in);
}

static double ping_pong(int rounds) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (rank == 0) {
      send_one();
      receive_one();
    } else {
      receive_one();
      send_one();
    }
  }
  return (MPI_Wtime() - begin) / rounds / 2;
}

static double stream(int messages) {
  enum { window = 1000 };
  const double begin = MPI_Wtime();
  for (int i = 0; i < messages; ++i) {
    if (rank == 0)
      send_one();
    else
      receive_one();
    if (i % window != window - 1 && i != messages - 1) continue;
    if (rank == 0)
      receive_one();
    else
      send_one();
  }
  return (MPI_Wtime() - begin) / messages;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double (*measure)(int), double seconds) {
  enum { parts = 15 };
  double times[parts];
  int n = 10;
  for (;;) {  // how many make a part
    double t = measure(n) * n;
    MPI_Bcast(&t, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (t > seconds / parts || n >= 10000000) break;
    n *= t < seconds / parts / 8 ? 8 : 2;
  }
  for (int i = 0; i < parts; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    times[i] = measure(n);
  }
  qsort(times, parts, sizeof *times, compare);
  return times[parts / 2] * 1e9;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || size != 2) {
    fprintf(stderr, "two ranks: messages KIND BYTES [SECONDS]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  kind = !strcmp(argv[1], "channel")    ? by_channel
         : !strcmp(argv[1], "in-place") ? in_place
                                        : by_mpi;
  bytes = (size_t)atol(argv[2]);
  const double seconds = argc > 3 ? atof(argv[3]) : 0.5;
  out = aligned_alloc(4096, (bytes / 4096 + 1) * 4096);
  in = aligned_alloc(4096, (bytes / 4096 + 1) * 4096);
  memset(out, 1, bytes);
  memset(in, 2, bytes);
#ifdef WITH_CHANNELS
  for (int sender = 0; sender < 2; ++sender) {
    const int receiver = 1 - sender;
    WEFT_Channel_create(MPI_COMM_WORLD,
                        &(WEFT_Channel_options){.type = MPI_BYTE,
                                                .count = (MPI_Count)bytes,
                                                .asynchrony = getenv("K") ? atoi(getenv("K")) : 4,
                                                .sender_count = 1,
                                                .senders = &sender,
                                                .receiver_count = 1,
                                                .receivers = &receiver},
                        sender == rank ? &to : &from);
  }
#endif
  double result[4];
  for (touched = 0; touched < 2; ++touched) {
    result[touched] = median(ping_pong, seconds);
    result[2 + touched] = median(stream, seconds);
  }
  if (rank == 0)
    printf("%s %zu %.1f %.1f %.1f %.1f\n", argv[1], bytes, result[0], result[1], result[2],
           result[3]);
  MPI_Finalize();
  return 0;
}
