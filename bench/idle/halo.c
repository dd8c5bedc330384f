/* SPDX-License-Identifier: Apache-2.0 */
/* 3D halo exchange by derived types (figure 8 of Si, Pena, Balaji, Takagi, Ishikawa, MT-MPI,
   ICS'14): each rank has a box of doubles with one layer of others' points around it, and sends the
   six faces of the box to its neighbours. Row: shape and which faces.

     cube, large_x, large_y, large_z   the paper's boxes, each side divided by -d
     yz (a vector of vectors), xz (a vector), xy (a vector); all: all six at once

   Neighbours are periodic; a dimension that has one rank is a helix: its neighbours are the next
   and the previous rank. So no rank sends to itself, and with two ranks each face goes to the
   other. All threads write the faces and check what came; one of them exchanges them, in a single
   region, and this is the time: us of the slowest rank. "counts" are per exchange (weft).

     halo [-b batches] [-t ms of a batch] [-l seconds of a row] [-d divisor] [-s shape,...] [-f
   faces,...] */
#include "../pvars.h"
#include "../rows.h"

#include <omp.h>

enum { dims = 3 };
static const struct shape {
  const char* name;
  long n[dims];
} shapes[] = {{"cube", {512, 512, 512}},
              {"large_x", {16384, 128, 64}},
              {"large_y", {64, 16384, 128}},
              {"large_z", {64, 128, 16384}}};
static const struct faces {
  const char* name;
  int first, end;
} faces[] = {{"yz", 0, 1}, {"xz", 1, 2}, {"xy", 2, 3}, {"all", 0, 3}};
static const char* const counted[] = {"messages_sent", "copies",         "bytes_copied",
                                      "copies_helped", "chunks_offered", "chunks_given"};

static struct {
  int rank, size;
  long n[dims], step[dims]; /* points of a rank; distance of neighbours in memory */
  double* points;
  MPI_Datatype face[dims];
  int below[dims], above[dims];
  long errors;
} box;

static void find_neighbours(void) {
  int ranks[dims] = {0, 0, 0}, step = 1;
  MPI_Dims_create(box.size, dims, ranks);
  for (int d = 0; d < dims; step *= ranks[d++]) {
    const int at = box.rank / step % ranks[d], rest = box.rank - at * step;
    box.above[d] = rest + (at + 1) % ranks[d] * step;
    box.below[d] = rest + (at + ranks[d] - 1) % ranks[d] * step;
    if (ranks[d] > 1) continue;
    box.above[d] = (box.rank + 1) % box.size;
    box.below[d] = (box.rank + box.size - 1) % box.size;
  }
}

static void make_box(const struct shape* shape, long divisor) {
  long all = 1;
  for (int d = 0; d < dims; ++d) {
    box.n[d] = shape->n[d] / divisor > 0 ? shape->n[d] / divisor : 1;
    box.step[d] = all;
    all *= box.n[d] + 2;
  }
  box.points = allocate((size_t)all * sizeof(double));
  MPI_Datatype column;
  MPI_Type_vector((int)box.n[1], 1, (int)box.step[1], MPI_DOUBLE, &column);
  MPI_Type_create_hvector((int)box.n[2], 1, box.step[2] * (MPI_Aint)sizeof(double), column,
                          &box.face[0]);
  MPI_Type_vector((int)box.n[2], (int)box.n[0], (int)box.step[2], MPI_DOUBLE, &box.face[1]);
  MPI_Type_vector((int)box.n[1], (int)box.n[0], (int)box.step[1], MPI_DOUBLE, &box.face[2]);
  for (int d = 0; d < dims; ++d) MPI_Type_commit(&box.face[d]);
  MPI_Type_free(&column);
}

static void free_box(void) {
  for (int d = 0; d < dims; ++d) MPI_Type_free(&box.face[d]);
  free(box.points);
}

/* The first point of the face at place `at` of dimension d: 0 and n + 1 are the neighbours'. */
static double* face_at(int d, long at) {
  return box.points + box.step[0] + box.step[1] + box.step[2] + (at - 1) * box.step[d];
}

/* Of a rank's point at this place in memory. */
static double value(int rank, long place, long stamp) {
  return (double)(rank * 1048576L + (place * 31 + stamp) % 1048573);
}

/* Writes both faces across d, or checks what came in beside them. */
static void visit_faces(int d, long stamp, int check) {
  const int p = d == 0 ? 1 : 0, q = d == 2 ? 1 : 2;
  const long n = box.n[d], step = box.step[d];
  long wrong = 0;
  for (int above = 0; above < 2; ++above) {
    double* face = face_at(d, above ? n + check : 1 - check);
    const int owner = !check ? box.rank : above ? box.above[d] : box.below[d];
    const long owners = face - box.points + (check ? above ? -n * step : n * step : 0);
#pragma omp parallel for reduction(+ : wrong) schedule(static)
    for (long b = 0; b < box.n[q]; ++b)
      for (long a = 0; a < box.n[p]; ++a) {
        const long place = a * box.step[p] + b * box.step[q];
        const double is = value(owner, owners + place, stamp);
        if (check)
          wrong += face[place] != is;
        else
          face[place] = is;
      }
  }
  box.errors += wrong;
}

/* Seconds. */
static double exchange(const struct faces* f) {
  double seconds = 0;
#pragma omp parallel
#pragma omp single
  {
    MPI_Request request[4 * dims];
    int n = 0;
    const double start = MPI_Wtime();
    for (int d = f->first; d < f->end; ++d) {
      MPI_Irecv(face_at(d, 0), 1, box.face[d], box.below[d], 2 * d, MPI_COMM_WORLD, &request[n++]);
      MPI_Irecv(face_at(d, box.n[d] + 1), 1, box.face[d], box.above[d], 2 * d + 1, MPI_COMM_WORLD,
                &request[n++]);
    }
    for (int d = f->first; d < f->end; ++d) {
      MPI_Isend(face_at(d, box.n[d]), 1, box.face[d], box.above[d], 2 * d, MPI_COMM_WORLD,
                &request[n++]);
      MPI_Isend(face_at(d, 1), 1, box.face[d], box.below[d], 2 * d + 1, MPI_COMM_WORLD,
                &request[n++]);
    }
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
    seconds = MPI_Wtime() - start;
  }
  return seconds;
}

/* us of an exchange by the slowest rank, and seconds of all; all ranks get the same. */
static double batch_us(const struct faces* f, long times, double* seconds) {
  static long stamp;
  const double start = MPI_Wtime();
  double mine[2] = {0, 0}, slowest[2];
  for (long i = 0; i < times; ++i) {
    ++stamp;
    for (int d = f->first; d < f->end; ++d) visit_faces(d, stamp, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    mine[0] += exchange(f);
    for (int d = f->first; d < f->end; ++d) visit_faces(d, stamp, 1);
  }
  mine[1] = MPI_Wtime() - start;
  MPI_Allreduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  *seconds = slowest[1];
  return slowest[0] * 1e6 / (double)times;
}

struct wanted {
  int batches;
  double batch_s, limit_s;
};

static void row(const struct shape* shape, const struct faces* f, const struct wanted* wanted,
                const struct pvars* vars, struct distance* distance) {
  double us[max_batches], line_ns[max_batches + 1], before[most_pvars], seconds, spent = 0;
  box.errors = 0;
  batch_us(f, 1, &seconds); /* cold pages */
  batch_us(f, 1, &seconds);
  long times = (long)(wanted->batch_s / seconds), errors = 0, bytes = 0;
  if (times < 1) times = 1;
  int batches = 0;
  line_ns[0] = look_at_distance(distance);
  while (batches < wanted->batches && spent <= wanted->limit_s) {
    us[batches++] = batch_us(f, times, &seconds);
    line_ns[batches] = look_at_distance(distance);
    spent += seconds;
  }
  /* Counted apart, so that nothing else is. */
  MPI_Barrier(MPI_COMM_WORLD);
  read_pvars(vars, before);
  exchange(f);
  MPI_Reduce(&box.errors, &errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int d = f->first; d < f->end; ++d)
    bytes += 2 * (long)sizeof(double) * box.n[0] * box.n[1] * box.n[2] / box.n[d];
  if (box.rank == 0) {
    printf(
        "{\"row\": \"%s %s\", \"ranks\": %d, \"threads\": %d, \"bytes\": %ld, \"errors\": %ld, "
        "\"us\": ",
        shape->name, f->name, box.size, omp_get_max_threads(), bytes, errors);
    print_list(us, batches);
    printf(", \"line_ns\": ");
    print_list(line_ns, batches + 1);
  }
  print_pvars(vars, before, 1);
  if (box.rank == 0) {
    printf("}\n");
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  int provided, option;
  long divisor = 2;
  struct wanted wanted = {11, 2e-3, 1};
  const char *only_shapes = NULL, *only_faces = "all";
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &box.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &box.size);
  while ((option = getopt(argc, argv, "b:t:l:d:s:f:")) != -1) {
    if (option == 'b') wanted.batches = atoi(optarg);
    if (option == 't') wanted.batch_s = atof(optarg) * 1e-3;
    if (option == 'l') wanted.limit_s = atof(optarg);
    if (option == 'd') divisor = atol(optarg);
    if (option == 's') only_shapes = optarg;
    if (option == 'f') only_faces = optarg;
  }
  if (wanted.batches < 1) wanted.batches = 1;
  if (wanted.batches > max_batches) wanted.batches = max_batches;
  if (divisor < 1) divisor = 1;
  find_neighbours();
  const struct pvars vars = open_pvars(counted, sizeof counted / sizeof *counted);
  struct distance distance = open_distance(box.rank, box.size);
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
    if (only_shapes != NULL && !listed(shapes[s].name, only_shapes)) continue;
    make_box(&shapes[s], divisor);
    for (size_t f = 0; f < sizeof faces / sizeof *faces; ++f)
      if (listed(faces[f].name, only_faces)) row(&shapes[s], &faces[f], &wanted, &vars, &distance);
    free_box();
  }
  close_distance(&distance);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
