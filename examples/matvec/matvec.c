/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrix-vector product: x <- A x mod 1024, again and again.

   As in figure 26 of Li, Hoefler, Snir (NUMA-Aware Shared-Memory Collective Communication for MPI,
   HPDC 2013): each rank gets some columns of the matrix (MPI_Scatter) and knows the vector from
   MPI_Bcast. In an iteration it multiplies its columns by its part of the vector, which gives a
   summand of the whole result; the summands are added so that each rank gets the part that belongs
   to its columns: by a reduction to each rank in turn (as there), by one reduce_scatter, or by an
   allreduce of everything.

   All numbers are small integers, so sums are exact in any order and the result is the same however
   many ranks there are. Every iteration is checked: with a vector w of zeros and ones, and v = w A
   computed once, w y must be v x (Freivalds).

     matvec [-n rows] [-i iterations] [-c reduce|reduce_scatter|allreduce] [-q] */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { scattering, broadcast, product, sum, phases };
static const char* const phase_names[phases] = {"scatter", "bcast", "product", "sum"};

struct problem {
  int n;      /* rows and columns */
  int width;  /* columns of a rank; those from n on are zero */
  int padded; /* width * ranks */
  int rank, size;
  double* columns;  /* width columns of `padded` numbers */
  double *x, *next; /* `width` numbers: this rank's part */
  double* summand;  /* `padded` numbers */
  double* all;      /* the sum of all, for allreduce */
  double *w, *v;    /* `padded` and `width` numbers */
  double seconds[phases];
};

/* Small integers that look random. */
static double entry(uint64_t i, uint64_t j) {
  uint64_t h = (i * 0x9e3779b97f4a7c15u) ^ (j * 0xc2b2ae3d27d4eb4fu);
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
  return (double)((h >> 32) & 7);
}

static double* numbers(size_t count) {
  double* out = calloc(count > 0 ? count : 1, sizeof *out);
  if (out == NULL) {
    fprintf(stderr, "matvec: no memory for %zu numbers\n", count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return out;
}

/* Rank 0 has the matrix and the vector first. */
static void distribute(struct problem* p) {
  double *matrix = NULL, *whole = numbers((size_t)p->padded);
  const size_t block = (size_t)p->width * (size_t)p->padded;
  if (p->rank == 0) {
    matrix = numbers(block * (size_t)p->size);
    for (int j = 0; j < p->n; ++j) {
      for (int i = 0; i < p->n; ++i)
        matrix[(size_t)j * (size_t)p->padded + (size_t)i] = entry((uint64_t)i, (uint64_t)j);
      whole[j] = j % 1024;
    }
  }
  MPI_Datatype column; /* a matrix may have more than 2^31 numbers, but not that many columns */
  MPI_Type_contiguous(p->padded, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  const double start = MPI_Wtime();
  MPI_Scatter(matrix, p->width, column, p->columns, p->width, column, 0, MPI_COMM_WORLD);
  const double scattered = MPI_Wtime();
  MPI_Bcast(whole, p->padded, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  p->seconds[broadcast] = MPI_Wtime() - scattered;
  p->seconds[scattering] = scattered - start;
  memcpy(p->x, whole + p->rank * p->width, (size_t)p->width * sizeof *p->x);
  MPI_Type_free(&column);
  free(matrix);
  free(whole);
}

static void multiply(struct problem* p) {
  memset(p->summand, 0, (size_t)p->padded * sizeof *p->summand);
  for (int j = 0; j < p->width; ++j) {
    const double* column = p->columns + (size_t)j * (size_t)p->padded;
    const double factor = p->x[j];
    for (int i = 0; i < p->n; ++i) p->summand[i] += column[i] * factor;
  }
}

/* Each rank gets the sum of its part, in `next`. */
static void sum_by_reduce(struct problem* p) {
  for (int root = 0; root < p->size; ++root)
    MPI_Reduce(p->summand + root * p->width, p->next, p->width, MPI_DOUBLE, MPI_SUM, root,
               MPI_COMM_WORLD);
}
static void sum_by_reduce_scatter(struct problem* p) {
  MPI_Reduce_scatter_block(p->summand, p->next, p->width, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void sum_by_allreduce(struct problem* p) {
  MPI_Allreduce(p->summand, p->all, p->padded, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  memcpy(p->next, p->all + p->rank * p->width, (size_t)p->width * sizeof *p->next);
}

static const struct {
  const char* name;
  void (*run)(struct problem*);
} sums[] = {{"reduce", sum_by_reduce},
            {"reduce_scatter", sum_by_reduce_scatter},
            {"allreduce", sum_by_allreduce}};
enum { ways = sizeof sums / sizeof sums[0] };

static void prepare_check(struct problem* p) {
  for (int i = 0; i < p->n; ++i) p->w[i] = (int)entry((uint64_t)i, (uint64_t)p->n) & 1;
  for (int j = 0; j < p->width; ++j)
    for (int i = 0; i < p->n; ++i)
      p->v[j] += p->w[i] * p->columns[(size_t)j * (size_t)p->padded + (size_t)i];
}

/* w y - v x over all ranks: 0 if `next` is right. */
static double error_of(const struct problem* p) {
  double difference = 0;
  for (int j = 0; j < p->width; ++j)
    difference += p->w[p->rank * p->width + j] * p->next[j] - p->v[j] * p->x[j];
  MPI_Allreduce(MPI_IN_PLACE, &difference, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return difference;
}

/* Weighted by position, so that exchanged parts are seen. */
static uint64_t checksum(const struct problem* p) {
  uint64_t total = 0;
  for (int j = 0; j < p->width; ++j) {
    const uint64_t at = (uint64_t)(p->rank * p->width + j);
    total += (uint64_t)p->x[j] * (at * 0x9e3779b97f4a7c15u + 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

/* One iteration; 1 if its result is wrong. */
static int iterate(struct problem* p, int way) {
  const double start = MPI_Wtime();
  multiply(p);
  const double multiplied = MPI_Wtime();
  sums[way].run(p);
  p->seconds[sum] += MPI_Wtime() - multiplied;
  p->seconds[product] += multiplied - start;
  const int wrong = error_of(p) != 0;
  for (int j = 0; j < p->width; ++j) p->x[j] = (double)((int64_t)p->next[j] % 1024);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct problem p = {.n = 1024};
  int iterations = 128, way = 0, quiet = 0, option;
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.size);
  while ((option = getopt(argc, argv, "n:i:c:q")) != -1) {
    if (option == 'n') p.n = atoi(optarg);
    if (option == 'i') iterations = atoi(optarg);
    if (option == 'q') quiet = 1;
    if (option == 'c')
      for (way = 0; way < ways && strcmp(optarg, sums[way].name) != 0;) ++way;
  }
  if (p.n < 1 || p.n > 1000000 || iterations < 1 || way == ways) {
    if (p.rank == 0)
      fprintf(stderr,
              "matvec: -n from 1 to 1000000, -i from 1, -c reduce|reduce_scatter|allreduce\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  p.width = (p.n + p.size - 1) / p.size;
  p.padded = p.width * p.size;
  const size_t whole = (size_t)p.padded, part = (size_t)p.width;
  double* memory = numbers(part * whole + 3 * whole + 3 * part);
  p.columns = memory;
  p.summand = p.columns + part * whole;
  p.all = p.summand + whole;
  p.w = p.all + whole;
  p.x = p.w + whole;
  p.next = p.x + part;
  p.v = p.next + part;

  distribute(&p);
  prepare_check(&p);
  int wrong = 0;
  for (int i = 0; i < iterations; ++i) wrong += iterate(&p, way);

  const uint64_t sum_of_all = checksum(&p);
  double slowest[phases];
  MPI_Reduce(p.seconds, slowest, phases, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (p.rank == 0) {
    printf("checksum %016llx, %d of %d iterations wrong\n", (unsigned long long)sum_of_all, wrong,
           iterations);
    if (!quiet)
      printf("%d x %d, %d ranks, sum by %s; slowest rank:\n", p.n, p.n, p.size, sums[way].name);
    for (int i = 0; i < phases && !quiet; ++i)
      printf("%-8s %10.6f s\n", phase_names[i], slowest[i]);
  }
  free(memory);
  MPI_Finalize();
  return wrong != 0;
}
