/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between two ranks, sent and received in an OpenMP single region while the other threads
   of both ranks are idle at its barrier (figure 10 of Si, Pena, Balaji, Takagi, Ishikawa, MT-MPI,
   ICS'14, which has OSU's latency, bandwidth and message rate). Rows (see rows.h):

     lat        ping-pong, half a round trip
     bw, rate   per message in a window of 16 or 64 nonblocking sends; one short answer per window

   "counts" per message: what both ranks counted (weft). OMP_NUM_THREADS says how many threads a
   rank has; with 1 nobody is idle. */
#include "../messages.h"
#include "../pvars.h"

static const char* const counted[] = {"copies", "bytes_copied", "copies_helped", "chunks_offered",
                                      "chunks_given"};
static struct {
  struct pvars vars;
  double before[most_pvars], messages;
} counts;

static void in_single(struct bench* b, operation op, long times, int messages) {
  if (counts.messages == 0) read_pvars(&counts.vars, counts.before);
#pragma omp parallel
#pragma omp single
  for (long i = 0; i < times; ++i) op(b);
  counts.messages += (double)(times * messages);
}

static void ping_pongs(struct bench* b, long times) {
  in_single(b, ping_pong, times, 2);
}
static void streams(struct bench* b, long times) {
  in_single(b, stream, times, b->window);
}

static void print_counts(struct bench* b) {
  (void)b;
  print_pvars(&counts.vars, counts.before, counts.messages);
  counts.messages = 0;
}

#define ROW(what, in_flight, messages, by, ...)                                      \
  {                                                                                  \
    .name = what, .ranks = 2, .window = in_flight, .per_op = messages, .element = 1, \
    .bytes = {__VA_ARGS__}, .threads = 1, .batch = by, .more = print_counts          \
  }
static const struct row rows[] = {
    ROW("lat", 1, 2, ping_pongs, 8, 1024, 16384, 65536, 262144, 1 << 20, 4 << 20),
    ROW("bw", 16, 16, streams, 16384, 65536, 262144, 1 << 20, 4 << 20),
    ROW("rate", 64, 64, streams, 8, 1024, 16384, 65536, 262144),
};

int main(int argc, char** argv) {
  counts.vars = open_pvars(counted, sizeof counted / sizeof *counted);
  const int code =
      run_rows_with(MPI_THREAD_SERIALIZED, argc, argv, rows, sizeof rows / sizeof *rows);
  MPI_T_finalize();
  return code;
}
