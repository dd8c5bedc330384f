/* SPDX-License-Identifier: Apache-2.0 */
/* Conjugate gradients for a 27-point operator on a box, like the HPCCG miniapp (Mantevo): ranks are
   stacked in z, the threads of a rank share its part by strips in y. Every thread exchanges the
   rows of its strip with the same thread of the ranks above and below (MPI_THREAD_MULTIPLE), with
   blocking calls or with nonblocking ones behind which it computes the inner planes.

     hpccg [-n points per side and rank] [-t threads] [-i most iterations] [-b]   (-b: blocking)

   The right-hand side is made for the solution 1 everywhere, so the result is checked: exit code 1
   if the residual or the error is too large. */
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { most_threads = 64 };
static const double tolerance = 1e-10;

static struct {
  int n, threads, most_iterations, blocking;
  int rank, size, below, above; /* neighbours, or MPI_PROC_NULL */
  long plane;                   /* points of a plane */
  double *x, *r, *ap, *b;       /* n planes */
  double* p;                    /* n + 2 planes: the outer two are the neighbours' */
  double part[most_threads], sum;
  double residual, error, seconds, waiting[most_threads];
  int iterations;
  pthread_barrier_t gate;
} box;

struct strip {
  int me, first, end; /* rows */
  pthread_t thread;
};

static double* plane_of(double* field, int z) {
  return field + z * box.plane;
}

/* p of the neighbours into the outer planes, this thread's rows of it. */
static void begin_exchange(const struct strip* s, MPI_Request* request) {
  const long at = (long)s->first * box.n, count = (long)(s->end - s->first) * box.n;
  double *low = plane_of(box.p, 0) + at, *high = plane_of(box.p, box.n + 1) + at;
  double *bottom = plane_of(box.p, 1) + at, *top = plane_of(box.p, box.n) + at;
  const int c = (int)count;
  if (box.blocking) {
    MPI_Sendrecv(top, c, MPI_DOUBLE, box.above, s->me, low, c, MPI_DOUBLE, box.below, s->me,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(bottom, c, MPI_DOUBLE, box.below, s->me, high, c, MPI_DOUBLE, box.above, s->me,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Irecv(low, c, MPI_DOUBLE, box.below, s->me, MPI_COMM_WORLD, &request[0]);
  MPI_Irecv(high, c, MPI_DOUBLE, box.above, s->me, MPI_COMM_WORLD, &request[1]);
  MPI_Isend(top, c, MPI_DOUBLE, box.above, s->me, MPI_COMM_WORLD, &request[2]);
  MPI_Isend(bottom, c, MPI_DOUBLE, box.below, s->me, MPI_COMM_WORLD, &request[3]);
}

/* The sum of the 27 points around (x, y, z) that are in the whole box; z counts the planes of p. */
static double around(int x, int y, int z) {
  double sum = 0;
  for (int k = z - 1; k <= z + 1; ++k) {
    if ((k == 0 && box.below == MPI_PROC_NULL) || (k == box.n + 1 && box.above == MPI_PROC_NULL))
      continue;
    const double* plane = plane_of(box.p, k);
    for (int j = y > 0 ? y - 1 : 0; j <= y + 1 && j < box.n; ++j)
      for (int i = x > 0 ? x - 1 : 0; i <= x + 1 && i < box.n; ++i)
        sum += plane[(long)j * box.n + i];
  }
  return sum;
}

/* ap = A p: 27 on the diagonal, -1 for each neighbour. */
static void multiply(const struct strip* s, int from, int to) {
  for (int z = from; z <= to; ++z)
    for (int y = s->first; y < s->end; ++y)
      for (int x = 0; x < box.n; ++x) {
        const long at = (long)y * box.n + x;
        plane_of(box.ap, z - 1)[at] = 28 * plane_of(box.p, z)[at] - around(x, y, z);
      }
}

static void apply(const struct strip* s) {
  MPI_Request request[4];
  pthread_barrier_wait(&box.gate); /* p is whole */
  double begin = MPI_Wtime();
  begin_exchange(s, request);
  box.waiting[s->me] += MPI_Wtime() - begin;
  multiply(s, 2, box.n - 1);
  begin = MPI_Wtime();
  if (!box.blocking) MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
  box.waiting[s->me] += MPI_Wtime() - begin;
  pthread_barrier_wait(&box.gate); /* the outer planes are whole */
  multiply(s, 1, 1);
  if (box.n > 1) multiply(s, box.n, box.n);
}

/* Over all ranks; every thread gets the same. */
static double total(const struct strip* s, double mine, MPI_Op op) {
  box.part[s->me] = mine;
  pthread_barrier_wait(&box.gate);
  if (s->me == 0) {
    double all = box.part[0];
    for (int t = 1; t < box.threads; ++t)
      all = op == MPI_SUM ? all + box.part[t] : fmax(all, box.part[t]);
    MPI_Allreduce(&all, &box.sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  }
  pthread_barrier_wait(&box.gate);
  return box.sum;
}

#define EVERY_POINT(s, at)                                       \
  for (int z_ = 0; z_ < box.n; ++z_)                             \
    for (long at = z_ * box.plane + (long)(s)->first * box.n,    \
              end_ = at + (long)((s)->end - (s)->first) * box.n; \
         at < end_; ++at)

static double dot(const struct strip* s, const double* a, const double* b) {
  double sum = 0;
  EVERY_POINT(s, i) sum += a[i] * b[i];
  return total(s, sum, MPI_SUM);
}

static void* solve(void* argument) {
  const struct strip* s = argument;
  double* p = plane_of(box.p, 1);
  EVERY_POINT(s, i) p[i] = 1; /* b = A 1 */
  apply(s);
  pthread_barrier_wait(&box.gate); /* nobody reads p any more */
  EVERY_POINT(s, i) box.b[i] = box.r[i] = p[i] = box.ap[i], box.x[i] = 0;
  double rr = dot(s, box.r, box.r);
  const double first = rr, begin = MPI_Wtime();
  int k = 0;
  for (; k < box.most_iterations && rr > tolerance * tolerance * first; ++k) {
    apply(s);
    const double alpha = rr / dot(s, p, box.ap);
    EVERY_POINT(s, i) {
      box.x[i] += alpha * p[i];
      box.r[i] -= alpha * box.ap[i];
    }
    const double before = rr;
    rr = dot(s, box.r, box.r);
    EVERY_POINT(s, i) p[i] = box.r[i] + rr / before * p[i];
  }
  const double seconds = MPI_Wtime() - begin;
  /* The true residual, from x itself. */
  double worst = 0, sum = 0;
  pthread_barrier_wait(&box.gate);
  EVERY_POINT(s, i) p[i] = box.x[i];
  apply(s);
  EVERY_POINT(s, i) {
    worst = fmax(worst, fabs(box.x[i] - 1));
    sum += (box.b[i] - box.ap[i]) * (box.b[i] - box.ap[i]);
  }
  const double residual = sqrt(total(s, sum, MPI_SUM) / first);
  worst = total(s, worst, MPI_MAX);
  if (s->me == 0)
    box.residual = residual, box.error = worst, box.iterations = k, box.seconds = seconds;
  return NULL;
}

static double* field(long points) {
  double* f = calloc((size_t)points, sizeof *f);
  if (f == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return f;
}

int main(int argc, char** argv) {
  int provided, option;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &box.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &box.size);
  box.n = 24, box.threads = 4, box.most_iterations = 500;
  while ((option = getopt(argc, argv, "n:t:i:b")) != -1) {
    if (option == 'n') box.n = atoi(optarg);
    if (option == 't') box.threads = atoi(optarg);
    if (option == 'i') box.most_iterations = atoi(optarg);
    if (option == 'b') box.blocking = 1;
  }
  if (provided < MPI_THREAD_MULTIPLE || box.n < 1 || box.threads < 1 ||
      box.threads > most_threads) {
    fprintf(stderr, "hpccg: needs MPI_THREAD_MULTIPLE, n > 0 and 1 to %d threads\n", most_threads);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (box.threads > box.n) box.threads = box.n;
  box.below = box.rank > 0 ? box.rank - 1 : MPI_PROC_NULL;
  box.above = box.rank + 1 < box.size ? box.rank + 1 : MPI_PROC_NULL;
  box.plane = (long)box.n * box.n;
  box.x = field(box.n * box.plane), box.r = field(box.n * box.plane);
  box.ap = field(box.n * box.plane), box.b = field(box.n * box.plane);
  box.p = field((box.n + 2) * box.plane);
  pthread_barrier_init(&box.gate, NULL, (unsigned)box.threads);

  struct strip strip[most_threads];
  for (int t = 0; t < box.threads; ++t) {
    strip[t] = (struct strip){t, box.n * t / box.threads, box.n * (t + 1) / box.threads, 0};
    if (t > 0 && pthread_create(&strip[t].thread, NULL, solve, &strip[t]) != 0)
      MPI_Abort(MPI_COMM_WORLD, 1);
  }
  solve(&strip[0]);
  for (int t = 1; t < box.threads; ++t) pthread_join(strip[t].thread, NULL);

  const int good = box.residual < 10 * tolerance && box.error < 1e-6;
  if (box.rank == 0)
    printf(
        "hpccg: %d ranks x %d threads, %s: %d iterations in %.6f s (%.6f s in exchanges), residual "
        "%.1e, "
        "largest error %.1e: %s\n",
        box.size, box.threads, box.blocking ? "blocking" : "nonblocking", box.iterations,
        box.seconds, box.waiting[0], box.residual, box.error, good ? "ok" : "WRONG");
  free(box.x), free(box.r), free(box.ap), free(box.b), free(box.p);
  MPI_Finalize();
  return !good;
}
