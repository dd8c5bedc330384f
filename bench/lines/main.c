/* SPDX-License-Identifier: Apache-2.0 */
/* What a core waits for one cache line that it has just written itself (row `own`), or that the
   core of the last rank has just written (row `other`), by the size of what was written (figures 15
   and 17 of Li, Hoefler, Snir, HPDC 2013). For two or more ranks that are threads of one process.

     main [-b batches]    prints JSON rows, as rows.h says; us: of one line */
#include "../rows.h"

enum { least = 4 << 10, most = 64 << 20, line = 64, reads_least = 1 << 14 };

struct line {
  struct line* next;
  char rest[line - sizeof(struct line*)];
};

/* Link the lines in one circle of random order, so that no line is fetched before it is asked for.
 */
static void write_circle(struct line* lines, long count, const int* order) {
  for (long i = 0; i < count; ++i) lines[order[i]].next = &lines[order[i + 1 < count ? i + 1 : 0]];
}

static void shuffle(int* order, long count) {
  uint64_t state = 88172645463325252u;
  for (long i = 0; i < count; ++i) order[i] = (int)i;
  for (long i = count - 1; i > 0; --i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const long k = (long)(state % (uint64_t)(i + 1));
    const int swapped = order[i];
    order[i] = order[k];
    order[k] = swapped;
  }
}

/* us of a line, read once each after the rank `writer` has written all. */
static double read_once(struct line* lines, long count, const int* order, int writer, int rank) {
  double us = 0;
  if (rank == writer) write_circle(lines, count, order);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const struct line* at = lines;
    const double start = MPI_Wtime();
    for (long i = 0; i < count; ++i) at = at->next;
    us = (MPI_Wtime() - start) / (double)count * 1e6;
    if (at != lines) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return us;
}

int main(int argc, char** argv) {
  int rank, size, option, batches = 11;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "b:")) != -1)
    if (option == 'b') batches = atoi(optarg);
  if (batches < 1 || batches > max_batches) batches = max_batches;
  struct distance distance = open_distance(rank, size);
  void* shared[2] = {NULL, NULL}; /* ranks are threads, so an address says all */
  if (rank == 0) {
    shared[0] = allocate(most);
    shared[1] = allocate(most / line * sizeof(int));
  }
  MPI_Bcast(shared, sizeof shared, MPI_BYTE, 0, MPI_COMM_WORLD);
  struct line* lines = shared[0];
  int* order = shared[1];
  for (long bytes = least; bytes <= most; bytes *= 2) {
    const long count = bytes / line;
    if (rank == 0) shuffle(order, count);
    const char* const names[] = {"own", "other"};
    for (int other = 0; other < 2; ++other) {
      double us[max_batches], line_ns[max_batches + 1];
      line_ns[0] = look_at_distance(&distance);
      for (int i = 0; i < batches; ++i) {
        long reads = 0, times = 0;
        double sum = 0;
        for (; reads < reads_least; reads += count, ++times)
          sum += read_once(lines, count, order, other ? size - 1 : 0, rank);
        us[i] = sum / (double)times;
        line_ns[i + 1] = look_at_distance(&distance);
      }
      if (rank != 0) continue;
      printf("{\"row\": \"%s\", \"ranks\": %d, \"bytes\": %ld, \"errors\": 0, \"us\": ",
             names[other], size, bytes);
      print_list(us, batches);
      printf(", \"line_ns\": ");
      print_list(line_ns, batches + 1);
      printf("}\n");
    }
  }
  if (rank == 0) {
    free(shared[0]);
    free(shared[1]);
  }
  close_distance(&distance);
  MPI_Finalize();
  return 0;
}
