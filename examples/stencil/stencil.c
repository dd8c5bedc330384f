/* SPDX-License-Identifier: Apache-2.0
 *
 * A five-point stencil on channels (Buono, De Matteis, Mencagli, Vanneschi: Optimizing
 * Message-Passing on Multicore Architectures using Hardware Multi-Threading, §V.B, algorithm 1).
 *
 *   mpiexec -n 4 stencil [--size M] [--steps T] [--check] [VARIANT]
 *
 * A matrix of M x M numbers, rows in blocks; each step every point becomes the mean of itself and
 * its four neighbours. A rank sends its border rows, computes what needs nobody, then the borders,
 * for which it reads its neighbours' rows where they arrive. VARIANT is who copies the rows:
 *
 *   no-kt   their senders
 *   kt-w    a communication thread of each rank
 *   skt     a thread for every 4 ranks (ranks as threads; else one of each process)
 *
 * With --check rank 0 computes the whole matrix, too, and compares it bit by bit.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/channel.h>

static int rank, size, m = 1080, steps = 100, check;
static const char* variant = "no-kt";

enum { north, south };
static WEFT_Channel to[2], from[2]; /* WEFT_CHANNEL_NULL: there is no neighbour */

static double* matrix(int rows) {
  double* p = calloc((size_t)rows * (size_t)m, sizeof *p);
  if (p == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return p;
}

static double initial(int row, int column) {
  return (row * 31 + column * 17) % 101;
}
static int first_row(int who) {
  return (int)((long)m * who / size);
}

/* One row from the old rows above, of, and below it. Outside of the matrix all is 0. */
static void row_step(double* out, const double* above, const double* row, const double* below) {
  for (int j = 0; j < m; ++j)
    out[j] =
        (row[j] + above[j] + below[j] + (j > 0 ? row[j - 1] : 0) + (j < m - 1 ? row[j + 1] : 0)) /
        5;
}

static void make_channels(void) {
  char name[40];
  const int shared = strcmp(variant, "skt") == 0;
  snprintf(name, sizeof name, "stencil %d", shared ? rank / 4 : rank);
  for (int sender = 0; sender < size; ++sender)
    for (int side = north; side <= south; ++side) {
      const int receiver = side == north ? sender - 1 : sender + 1;
      if (receiver < 0 || receiver >= size) continue;
      WEFT_Channel channel;
      WEFT_Channel_create(
          MPI_COMM_WORLD,
          &(WEFT_Channel_options){.type = MPI_DOUBLE,
                                  .count = m,
                                  .asynchrony = 1,
                                  .sender_count = 1,
                                  .senders = &sender,
                                  .receiver_count = 1,
                                  .receivers = &receiver,
                                  .threads = strcmp(variant, "no-kt") == 0 ? NULL : name},
          &channel);
      if (sender == rank)
        to[side] = channel;
      else if (receiver == rank)
        from[1 - side] = channel;
      else
        WEFT_Channel_free(&channel);
    }
}

static void send_border(int side, const double* row, WEFT_Channel_request* request) {
  request->channel = WEFT_CHANNEL_NULL;
  if (to[side] == WEFT_CHANNEL_NULL) return;
  if (strcmp(variant, "no-kt") == 0)
    WEFT_Channel_send(to[side], row);
  else
    WEFT_Channel_send_delegated(to[side], row, request);
}

static const double* border(int side, const double* nothing) {
  const void* row = nothing;
  if (from[side] != WEFT_CHANNEL_NULL) WEFT_Channel_receive(from[side], &row, NULL);
  return row;
}
static void release(int side, const double* row) {
  if (from[side] != WEFT_CHANNEL_NULL) WEFT_Channel_release(from[side], row);
}

/* `rows` rows at `now` to `next`. */
static void step(const double* now, double* next, int rows, const double* zeros) {
  WEFT_Channel_request requests[2];
  const double* last = now + (long)(rows - 1) * m;
  send_border(north, now, &requests[north]);
  send_border(south, last, &requests[south]);
  for (int i = 1; i + 1 < rows; ++i)
    row_step(next + (long)i * m, now + (long)(i - 1) * m, now + (long)i * m,
             now + (long)(i + 1) * m);
  const double* above = border(north, zeros);
  const double* below = border(south, zeros);
  if (rows == 1) {
    row_step(next, above, now, below);
  } else {
    row_step(next, above, now, now + m);
    row_step(next + (long)(rows - 1) * m, last - m, last, below);
  }
  release(north, above);
  release(south, below);
  WEFT_Channel_wait(&requests[north]); /* its rows are written again in the step after the next */
  WEFT_Channel_wait(&requests[south]);
}

static int differs(const double* mine, int rows, const double* zeros) {
  int* counts = calloc((size_t)size, sizeof(int));
  int* displs = calloc((size_t)size, sizeof(int));
  for (int r = 0; r < size; ++r) {
    counts[r] = (first_row(r + 1) - first_row(r)) * m;
    displs[r] = first_row(r) * m;
  }
  double* all = matrix(rank == 0 ? m : 1);
  MPI_Gatherv(mine, rows * m, MPI_DOUBLE, all, counts, displs, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  int different = 0;
  if (rank == 0) {
    double *now = matrix(m), *next = matrix(m);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < m; ++j) now[(long)i * m + j] = initial(i, j);
    for (int t = 0; t < steps; ++t) {
      for (int i = 0; i < m; ++i)
        row_step(next + (long)i * m, i > 0 ? now + (long)(i - 1) * m : zeros, now + (long)i * m,
                 i < m - 1 ? now + (long)(i + 1) * m : zeros);
      double* swap = now;
      now = next;
      next = swap;
    }
    for (long i = 0; i < (long)m * m; ++i) different += now[i] != all[i];
    printf("stencil: %d of %ld points differ from one rank's\n", different, (long)m * m);
    free(now);
    free(next);
  }
  free(all);
  free(counts);
  free(displs);
  return different != 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      m = atoi(argv[++i]);
    else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
      steps = atoi(argv[++i]);
    else if (strcmp(argv[i], "--check") == 0)
      check = 1;
    else
      variant = argv[i];
  if (m < size || steps < 0) {
    if (rank == 0) fprintf(stderr, "stencil: at least a row for each rank\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  make_channels();
  const int rows = first_row(rank + 1) - first_row(rank);
  double *now = matrix(rows), *next = matrix(rows), *zeros = matrix(1);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < m; ++j) now[(long)i * m + j] = initial(first_row(rank) + i, j);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int t = 0; t < steps; ++t) {
    step(now, next, rows, zeros);
    double* swap = now;
    now = next;
    next = swap;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("stencil: %s, %d ranks, %d x %d, %d steps: %.2f ms\n", variant, size, m, m, steps,
           (MPI_Wtime() - begin) * 1e3);
  const int failed = check ? differs(now, rows, zeros) : 0;
  for (int side = north; side <= south; ++side) {
    if (to[side] != WEFT_CHANNEL_NULL) WEFT_Channel_free(&to[side]);
    if (from[side] != WEFT_CHANNEL_NULL) WEFT_Channel_free(&from[side]);
  }
  free(now);
  free(next);
  free(zeros);
  MPI_Finalize();
  return failed;
}
