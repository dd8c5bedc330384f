/* SPDX-License-Identifier: Apache-2.0 */
/* Multigrid for Poisson's equation on a periodic box, after the pattern of NAS MG: V-cycles whose
   every step exchanges the faces of a field, dimension by dimension, by derived types (a vector of
   vectors, a vector, one block). Ranks share the box in three dimensions, OpenMP threads the loops
   of a rank.

     multigrid [-n points per side, 4 times a power of two] [-c cycles] [-m ratio]

   A step computes each point from the same numbers in the same order, whoever owns it: so the
   answer has the same bits for any number of ranks and threads; its checksum is printed. Exit code
   1 if the residual does not fall to `ratio` or less of the last one in each cycle. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { dims = 3, coarsest = 4, most_levels = 16, sweeps = 2, coarsest_sweeps = 20, charges = 10 };

/* The part of a grid that this rank owns, with one layer of others' points around it. Dimension 0
   is X, whose points follow each other in memory. */
struct level {
  long first[dims], n[dims]; /* in the whole grid; points of this rank */
  long row, plane;           /* distance of neighbours in Y and Z */
  double h2;                 /* distance of points, squared; 1 on the finest grid */
  double *u, *f, *r;
  MPI_Datatype face[dims]; /* across each dimension */
};

static struct {
  int rank, size, ranks[dims], at[dims], below[dims], above[dims];
  MPI_Comm comm;
  int levels;
  struct level level[most_levels]; /* 0: the finest */
  double exchanging;               /* seconds */
} box;

static long points(const struct level* l) {
  return l->plane * (l->n[2] + 2);
}

static double* field(const struct level* l) {
  double* made = calloc((size_t)points(l), sizeof *made);
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return made;
}

/* Ranks share the points of the coarsest grid; on the finer ones they own what is there. */
static void make_level(struct level* l, int index) {
  const long fine = 1L << (box.levels - 1 - index);
  for (int d = 0; d < dims; ++d) {
    l->first[d] = fine * (coarsest * box.at[d] / box.ranks[d]);
    l->n[d] = fine * (coarsest * (box.at[d] + 1) / box.ranks[d]) - l->first[d];
  }
  l->row = l->n[0] + 2;
  l->plane = l->row * (l->n[1] + 2);
  l->h2 = (double)(1L << 2 * index);
  l->u = field(l), l->f = field(l), l->r = field(l);
  /* Later dimensions take along what earlier ones have brought, so edges and corners come too. */
  MPI_Datatype column;
  MPI_Type_vector((int)l->n[1], 1, (int)l->row, MPI_DOUBLE, &column);
  MPI_Type_create_hvector((int)l->n[2], 1, l->plane * (MPI_Aint)sizeof(double), column,
                          &l->face[0]);
  MPI_Type_vector((int)l->n[2], (int)l->row, (int)l->plane, MPI_DOUBLE, &l->face[1]);
  MPI_Type_contiguous((int)l->plane, MPI_DOUBLE, &l->face[2]);
  for (int d = 0; d < dims; ++d) MPI_Type_commit(&l->face[d]);
  MPI_Type_free(&column);
}

static void free_level(struct level* l) {
  for (int d = 0; d < dims; ++d) MPI_Type_free(&l->face[d]);
  free(l->u), free(l->f), free(l->r);
}

/* Brings the layer around this rank's points from its neighbours. */
static void exchange(const struct level* l, double* u) {
  const long step[dims] = {1, l->row, l->plane};
  const long corner[dims] = {l->row + l->plane, l->plane, 0};
  const double begin = MPI_Wtime();
  for (int d = 0; d < dims; ++d) {
    MPI_Request request[4];
    double* face = u + corner[d];
    MPI_Irecv(face, 1, l->face[d], box.below[d], 0, box.comm, &request[0]);
    MPI_Irecv(face + (l->n[d] + 1) * step[d], 1, l->face[d], box.above[d], 1, box.comm,
              &request[1]);
    MPI_Isend(face + l->n[d] * step[d], 1, l->face[d], box.above[d], 0, box.comm, &request[2]);
    MPI_Isend(face + step[d], 1, l->face[d], box.below[d], 1, box.comm, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
  }
  box.exchanging += MPI_Wtime() - begin;
}

/* `at` is each of this rank's points in turn, in the row (y, z). */
#define EVERY_ROW(l)                                                                        \
  _Pragma("omp parallel for collapse(2) schedule(static)") for (long z = 1; z <= (l)->n[2]; \
                                                                ++z) for (long y = 1;       \
                                                                          y <= (l)->n[1]; ++y)
#define EVERY_POINT(l, at) \
  for (long at = z * (l)->plane + y * (l)->row + 1, end_ = at + (l)->n[0]; at < end_; ++at)

/* r = f - A u */
static void residual(struct level* l) {
  const double *u = l->u, *f = l->f, weight = 1 / l->h2;
  const long row = l->row, plane = l->plane;
  double* r = l->r;
  exchange(l, l->u);
  EVERY_ROW(l) {
    EVERY_POINT(l, i) {
      const double around =
          u[i - 1] + u[i + 1] + u[i - row] + u[i + row] + u[i - plane] + u[i + plane];
      r[i] = f[i] - weight * (6 * u[i] - around);
    }
  }
}

/* Jacobi's method, damped. */
static void smooth(struct level* l, int times) {
  const double weight = 6. / 7 * l->h2 / 6;
  for (; times > 0; --times) {
    residual(l);
    double *u = l->u, *r = l->r;
    EVERY_ROW(l) {
      EVERY_POINT(l, i) u[i] += weight * r[i];
    }
  }
}

/* The residual's average around each point of the coarser grid, which is every other one of the
   finer. */
static void restrict_to(struct level* fine, struct level* coarse) {
  exchange(fine, fine->r);
  EVERY_ROW(coarse) {
    for (long x = 1; x <= coarse->n[0]; ++x) {
      const double* r = fine->r + (2 * z - 1) * fine->plane + (2 * y - 1) * fine->row + 2 * x - 1;
      double sum = 0;
      for (long k = -1; k <= 1; ++k)
        for (long j = -1; j <= 1; ++j) {
          const double* in_row = r + k * fine->plane + j * fine->row;
          sum += (in_row[-1] + 2 * in_row[0] + in_row[1]) * (double)((2 - labs(k)) * (2 - labs(j)));
        }
      coarse->f[z * coarse->plane + y * coarse->row + x] = sum / 64;
    }
  }
  memset(coarse->u, 0, (size_t)points(coarse) * sizeof *coarse->u);
}

/* Adds the coarser grid's u, in between the average of the points around. */
static void interpolate(struct level* coarse, struct level* fine) {
  exchange(coarse, coarse->u);
  EVERY_ROW(fine) {
    const long up = (z - 1) % 2 * coarse->plane, right = (y - 1) % 2 * coarse->row;
    const double* from =
        coarse->u + ((z - 1) / 2 + 1) * coarse->plane + ((y - 1) / 2 + 1) * coarse->row;
    double* to = fine->u + z * fine->plane + y * fine->row;
    for (long x = 1; x <= fine->n[0]; ++x) {
      const double *a = from + (x - 1) / 2 + 1, *b = a + (x - 1) % 2;
      to[x] +=
          (a[0] + a[right] + a[up] + a[up + right] + b[0] + b[right] + b[up] + b[up + right]) / 8;
    }
  }
}

static void cycle(int index) {
  struct level *l = &box.level[index], *coarse = l + 1;
  if (index == box.levels - 1) return smooth(l, coarsest_sweeps);
  smooth(l, sweeps);
  residual(l);
  restrict_to(l, coarse);
  cycle(index + 1);
  interpolate(coarse, l);
  smooth(l, sweeps);
}

/* As NAS MG has it: charges of 1 and -1 at a few points. */
static void place_charges(struct level* l, long n) {
  uint64_t state = 314159265;
  for (int c = 0; c < 2 * charges; ++c) {
    long at = 0;
    int mine = 1;
    const long step[dims] = {1, l->row, l->plane};
    for (int d = 0; d < dims; ++d) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const long local = (long)(state >> 33) % n - l->first[d] + 1;
      mine &= local >= 1 && local <= l->n[d];
      at += local * step[d];
    }
    if (mine) l->f[at] += c % 2 == 0 ? 1 : -1;
  }
}

/* The largest residual of all ranks: a maximum is the same in any order. */
static double norm(struct level* l) {
  double most = 0;
  residual(l);
  const double* r = l->r;
#pragma omp parallel for reduction(max : most) schedule(static)
  for (long z = 1; z <= l->n[2]; ++z)
    for (long y = 1; y <= l->n[1]; ++y) EVERY_POINT(l, i) most = fmax(most, fabs(r[i]));
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, box.comm);
  return most;
}

/* Of the bits of all points and where they are: a sum of integers is the same in any order. */
static uint64_t checksum(const struct level* l, long n) {
  uint64_t sum = 0;
  for (long z = 1; z <= l->n[2]; ++z)
    for (long y = 1; y <= l->n[1]; ++y)
      for (long x = 1; x <= l->n[0]; ++x) {
        const long in_grid = ((l->first[2] + z) * n + l->first[1] + y) * n + l->first[0] + x;
        uint64_t bits;
        memcpy(&bits, &l->u[z * l->plane + y * l->row + x], sizeof bits);
        sum += bits * (2 * (uint64_t)in_grid + 1);
      }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, box.comm);
  return sum;
}

static void make_box(void) {
  const int periodic[dims] = {1, 1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &box.size);
  MPI_Dims_create(box.size, dims, box.ranks);
  MPI_Cart_create(MPI_COMM_WORLD, dims, box.ranks, periodic, 0, &box.comm);
  MPI_Comm_rank(box.comm, &box.rank);
  MPI_Cart_coords(box.comm, box.rank, dims, box.at);
  for (int d = 0; d < dims; ++d) MPI_Cart_shift(box.comm, d, 1, &box.below[d], &box.above[d]);
}

int main(int argc, char** argv) {
  int provided, option, cycles = 8, threads = 1;
  long n = 64;
  double ratio = 0.25;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  while ((option = getopt(argc, argv, "n:c:m:")) != -1) {
    if (option == 'n') n = atol(optarg);
    if (option == 'c') cycles = atoi(optarg);
    if (option == 'm') ratio = atof(optarg);
  }
#ifdef _OPENMP
  threads = omp_get_max_threads();
#endif
  make_box();
  for (long side = coarsest; side <= n; side *= 2) ++box.levels;
  const int fits = box.ranks[0] <= coarsest && box.ranks[1] <= coarsest && box.ranks[2] <= coarsest;
  if (box.levels < 1 || box.levels > most_levels || n != (long)coarsest << (box.levels - 1) ||
      !fits) {
    if (box.rank == 0)
      fprintf(stderr,
              "multigrid: needs %d times a power of two points per side, and at most %d ranks in "
              "each of %d x %d x %d\n",
              coarsest, coarsest, box.ranks[0], box.ranks[1], box.ranks[2]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < box.levels; ++i) make_level(&box.level[i], i);
  struct level* finest = &box.level[0];
  place_charges(finest, n);

  const double first = norm(finest);
  double last = first, worst = 0;
  box.exchanging = 0;
  MPI_Barrier(box.comm);
  const double begin = MPI_Wtime();
  for (int c = 0; c < cycles; ++c) {
    cycle(0);
    const double now = norm(finest);
    worst = fmax(worst, now / last);
    last = now;
  }
  double seconds[2] = {MPI_Wtime() - begin, box.exchanging}; /* of the slowest rank */
  MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, box.comm);
  const uint64_t sum = checksum(finest, n);
  const int good = worst <= ratio;
  if (box.rank == 0)
    printf(
        "multigrid: %ld^3 points, %d ranks x %d threads: %d cycles in %.6f s (%.6f s in "
        "exchanges), "
        "residual %.3e to %.3e, at most %.3f a cycle, checksum %016llx: %s\n",
        n, box.size, threads, cycles, seconds[0], seconds[1], first, last, worst,
        (unsigned long long)sum, good ? "ok" : "WRONG");
  for (int i = 0; i < box.levels; ++i) free_level(&box.level[i]);
  MPI_Comm_free(&box.comm);
  MPI_Finalize();
  return !good;
}
