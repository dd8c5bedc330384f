/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of ranks that pass a field on, which OpenMP threads compute: each thread gives the rows
   that it has computed to MPI_Pready, and takes rows of the left neighbour's field by MPI_Parrived
   as they come. Nobody waits for the slowest thread.

     partitioned [-s steps] [-r rows per rank]

   The receiver has other partitions than the sender: half as many, of twice the size. Every number
   is known in advance; exit code 1 if one is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { row_length = 512 };

static double value(int rank, int step, long i) {
  return (double)(i % 1009) + 1000.0 * rank + 0.5 * step;
}

static void compute_row(double* row, int rank, int step, int number) {
  for (int i = 0; i < row_length; ++i) row[i] = value(rank, step, (long)number * row_length + i);
}

static long wrong_in(const double* pair, int rank, int step, int number) {
  long wrong = 0;
  for (int i = 0; i < 2 * row_length; ++i)
    wrong += pair[i] != value(rank, step, 2L * number * row_length + i);
  return wrong;
}

/* Each thread computes some rows and gives them away, then takes some pairs of rows. */
static long one_step(double* out, double* in, int rows, int rank, int left, int step,
                     MPI_Request* requests) {
  long wrong = 0;
  MPI_Startall(2, requests);
#pragma omp parallel reduction(+ : wrong)
  {
#pragma omp for schedule(dynamic) nowait
    for (int r = 0; r < rows; ++r) {
      compute_row(out + (long)r * row_length, rank, step, r);
      MPI_Pready(r, requests[0]);
    }
#pragma omp for schedule(dynamic)
    for (int p = 0; p < rows / 2; ++p) {
      for (int arrived = 0; !arrived;) MPI_Parrived(requests[1], p, &arrived);
      wrong += wrong_in(in + 2L * p * row_length, left, step, p);
    }
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  return wrong;
}

int main(int argc, char** argv) {
  int provided, rank, size, steps = 20, rows = 64, option;
  long wrong = 0, all = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "s:r:")) != -1) {
    if (option == 's') steps = atoi(optarg);
    if (option == 'r') rows = atoi(optarg);
  }
  if (provided < MPI_THREAD_MULTIPLE || steps < 1 || rows < 2 || rows % 2 != 0) {
    if (rank == 0)
      fprintf(stderr,
              "partitioned: needs MPI_THREAD_MULTIPLE, a step, and an even number of rows\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  double* out = malloc(sizeof *out * row_length * (size_t)rows);
  double* in = malloc(sizeof *in * row_length * (size_t)rows);
  if (out == NULL || in == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Request requests[2];
  MPI_Psend_init(out, rows, row_length, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(in, rows / 2, 2 * row_length, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  for (int step = 0; step < steps; ++step)
    wrong += one_step(out, in, rows, rank, left, step, requests);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(&all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("partitioned: %d ranks, %d steps of %d rows, %ld wrong numbers: %s\n", size, steps, rows,
           all, all == 0 ? "ok" : "failed");
  free(out);
  free(in);
  MPI_Finalize();
  return all != 0;
}
