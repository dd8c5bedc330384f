/* SPDX-License-Identifier: Apache-2.0 */
/* What idle threads bring to packing and reducing (figure 7 of Si, Pena, Balaji, Takagi, Ishikawa,
   MT-MPI, ICS'14): MPI_Pack of a plane of a 3D array of doubles, called where OpenMP threads are
   idle, or other ranks of the process are.

     xz     top surface: a vector of Z blocks of X doubles, Y = 2; extent: Z
     yz     left surface: a vector of Z vectors of Y doubles, X = 2 (or -d); extent: Y
     fold   MPI_Reduce_local of doubles

   where: outside   no parallel region           single    the others are at its barrier
          master    the others are at a barrier  nowait    single nowait, the others at the barrier
          critical  each thread packs once       task      a task, the others are at the barrier
          nested    the paper's way: a region of as many threads as are idle, in single, without
                    MPI (figure 3b)              loop      the same loop by one thread
          region    the same loop by all threads, outside: what this memory allows
          recv      the other ranks are in MPI_Recv              barrier   in MPI_Barrier

   Prints one JSON object for each plane, where and extent: us of each of the batches, the cores'
   distance before and after (distance.h), "counts" of one pack (weft).

     main [-b batches] [-m bytes of the plane] [-p plane,...] [-w where,...] [-x extent,...]
          [-d doubles in X of yz] */
#include "../distance.h"
#include "../pvars.h"

#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

enum { most_batches = 101 };
static const char* const counted[] = {"chunks_offered", "chunks_given"};
static struct pvars vars;
static int rank, size, threads;
static double *array, *packed;
static size_t plane_doubles;
static int looks = 1;  /* not counted: short packs meet cold pages and clocks */
static long depth = 2; /* X of yz */

struct plane {
  const char* name;
  MPI_Datatype type;
  long n, m, n_stride, m_stride; /* n times m blocks of `block` doubles */
  long block;
};

static int listed(const char* name, const char* list) {
  const size_t length = strlen(name);
  if (list == NULL) return 1;
  for (const char* at = list; (at = strstr(at, name)) != NULL; at += length)
    if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
  return 0;
}

static struct plane make_plane(const char* name, long extent) {
  struct plane p = {.name = name};
  const long rest = (long)plane_doubles / extent;
  if (strcmp(name, "xz") == 0) {
    p.n = extent, p.m = 1, p.block = rest, p.n_stride = 2 * rest;
    MPI_Type_vector((int)extent, (int)rest, (int)(2 * rest), MPI_DOUBLE, &p.type);
  } else if (strcmp(name, "yz") == 0) {
    MPI_Datatype row;
    p.n = rest, p.m = extent, p.block = 1, p.m_stride = depth, p.n_stride = depth * extent;
    MPI_Type_vector((int)extent, 1, (int)depth, MPI_DOUBLE, &row);
    MPI_Type_create_hvector((int)rest, 1, (MPI_Aint)(depth * extent * 8), row, &p.type);
    MPI_Type_free(&row);
  } else {
    p.n = p.m = 1, p.block = (long)plane_doubles;
    MPI_Type_contiguous((int)plane_doubles, MPI_DOUBLE, &p.type);
  }
  MPI_Type_commit(&p.type);
  return p;
}

static void pack(struct plane* p) {
  int position = 0;
  if (strcmp(p->name, "fold") == 0)
    MPI_Reduce_local(array, packed, (int)plane_doubles, MPI_DOUBLE, MPI_SUM);
  else
    MPI_Pack(array, 1, p->type, packed, (int)(plane_doubles * 8), &position, MPI_COMM_SELF);
}

static void loop(struct plane* p, int team) {
#pragma omp parallel for collapse(2) num_threads(team) schedule(static)
  for (long i = 0; i < p->n; ++i)
    for (long j = 0; j < p->m; ++j) {
      const double* from = array + i * p->n_stride + j * p->m_stride;
      double* to = packed + (i * p->m + j) * p->block;
      if (p->block == 1)
        *to = *from;
      else
        memcpy(to, from, (size_t)p->block * 8);
    }
}

static double us_of(struct plane* p, const char* where) {
  double start = MPI_Wtime(), end = 0;
  long packs = 1;
  if (strcmp(where, "outside") == 0 || strcmp(where, "recv") == 0 ||
      strcmp(where, "barrier") == 0) {
    pack(p);
  } else if (strcmp(where, "loop") == 0) {
    loop(p, 1);
  } else if (strcmp(where, "region") == 0) {
    loop(p, threads);
  } else if (strcmp(where, "nested") == 0) {
#pragma omp parallel
#pragma omp single
    {
      start = MPI_Wtime();
      loop(p, threads);
      end = MPI_Wtime();
    }
  } else if (strcmp(where, "single") == 0) {
#pragma omp parallel
#pragma omp single
    {
      start = MPI_Wtime();
      pack(p);
      end = MPI_Wtime();
    }
  } else if (strcmp(where, "nowait") == 0) {
#pragma omp parallel
    {
#pragma omp single nowait
      {
        start = MPI_Wtime();
        pack(p);
        end = MPI_Wtime();
      }
#pragma omp barrier
    }
  } else if (strcmp(where, "master") == 0) {
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp master
      {
        start = MPI_Wtime();
        pack(p);
        end = MPI_Wtime();
      }
#pragma omp barrier
    }
  } else if (strcmp(where, "task") == 0) {
#pragma omp parallel
#pragma omp single
#pragma omp task
    {
      start = MPI_Wtime();
      pack(p);
      end = MPI_Wtime();
    }
  } else if (strcmp(where, "critical") == 0) {
    packs = threads;
#pragma omp parallel
#pragma omp critical
    pack(p);
  }
  if (end == 0) end = MPI_Wtime();
  return (end - start) * 1e6 / (double)packs;
}

/* Rank 0 works, the others wait. */
static double us_among_ranks(struct plane* p, const char* where) {
  int token = 0;
  double us = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    usleep(100); /* they wait by now */
    us = us_of(p, where);
    if (strcmp(where, "recv") == 0)
      for (int r = 1; r < size; ++r) MPI_Send(&token, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
  } else if (strcmp(where, "recv") == 0) {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return us;
}

/* ns of a cache line's way between the first and the last thread, or rank. */
static double look_around(struct distance* distance) {
  static _Alignas(128) long line;
  static long turns;
  double ns = 0;
  if (size > 1) return look_at_distance(distance);
  if (threads == 1) return 0;
  const long before = turns;
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    long mine = before;
    if (me == 0) ns = hand_line_over(&line, &mine, 0);
    if (me == threads - 1) turns = (hand_line_over(&line, &mine, 1), mine);
  }
  return ns;
}

static long wrong(struct plane* p) {
  long count = 0;
  if (strcmp(p->name, "fold") == 0) return 0;
  for (long i = 0; i < p->n; ++i)
    for (long j = 0; j < p->m; ++j)
      for (long k = 0; k < p->block; ++k)
        count +=
            packed[(i * p->m + j) * p->block + k] != array[i * p->n_stride + j * p->m_stride + k];
  return count;
}

static void print_list(const char* name, const double* values, int count) {
  printf(", \"%s\": [", name);
  for (int i = 0; i < count; ++i) printf("%s%.5g", i ? ", " : "", values[i]);
  printf("]");
}

static void row(struct plane* p, const char* where, long extent, int batches,
                struct distance* distance) {
  double us[most_batches], line_ns[most_batches + 1], before[most_pvars];
  memset(packed, 0, plane_doubles * 8);
  for (int i = 0; i < looks; ++i) us_among_ranks(p, where);
  const long errors = rank == 0 ? wrong(p) : 0;
  read_pvars(&vars, before);
  line_ns[0] = look_around(distance);
  for (int i = 0; i < batches; ++i) {
    us[i] = us_among_ranks(p, where);
    line_ns[i + 1] = look_around(distance);
  }
  const double packs = (double)batches * (strcmp(where, "critical") == 0 ? threads : 1);
  if (rank != 0) {
    print_pvars(&vars, before, packs);
    return;
  }
  printf(
      "{\"row\": \"%s %s\", \"ranks\": %d, \"threads\": %d, \"bytes\": %zu, \"extent\": %ld, "
      "\"errors\": %ld",
      p->name, where, size, threads, plane_doubles * 8, extent, errors);
  print_list("us", us, batches);
  print_list("line_ns", line_ns, batches + 1);
  print_pvars(&vars, before, packs);
  printf("}\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  static const char* const planes[] = {"xz", "yz", "fold"};
  static const char* const alone[] = {"outside", "single", "nowait", "master", "critical",
                                      "task",    "nested", "loop",   "region"};
  static const char* const among[] = {"recv", "barrier"};
  int batches = 11, option, provided;
  const char *only_planes = "xz,yz", *only_where = NULL;
  char extents[256] = "512";
  plane_doubles = (64 << 20) / 8;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "b:m:p:w:x:d:")) != -1) {
    if (option == 'b') batches = atoi(optarg);
    if (option == 'm') plane_doubles = (size_t)atol(optarg) / 8;
    if (option == 'p') only_planes = optarg;
    if (option == 'd') depth = atol(optarg);
    if (option == 'w') only_where = optarg;
    if (option == 'x') snprintf(extents, sizeof extents, "%s", optarg);
  }
  if (batches < 1) batches = 1;
  if (batches > most_batches) batches = most_batches;
  if (plane_doubles * 8 < 32 << 20) looks = 8;
  threads = size > 1 ? 1 : omp_get_max_threads();
  omp_set_max_active_levels(2);
  if (size == 1) {
    /* OpenMP has threads from its first region on. */
#pragma omp parallel
    threads = omp_get_num_threads();
  }
  if (rank == 0) {
    const size_t doubles = (size_t)(depth < 2 ? 2 : depth) * plane_doubles;
    array = malloc(doubles * 8);
    packed = malloc(plane_doubles * 8);
    for (size_t i = 0; i < doubles; ++i) array[i] = (double)i;
  } else {
    plane_doubles = 0;
  }
  struct distance distance = open_distance(rank, size);
  vars = open_pvars(counted, sizeof counted / sizeof *counted);
  char* rest = extents;
  for (char* word; (word = strtok_r(rest, ",", &rest)) != NULL;)
    for (size_t k = 0; k < sizeof planes / sizeof *planes; ++k) {
      if (!listed(planes[k], only_planes)) continue;
      const long extent = atol(word);
      struct plane p = {.name = planes[k]};
      if (rank == 0) p = make_plane(planes[k], extent);
      const char* const* where = size > 1 ? among : alone;
      const size_t count = size > 1 ? 2 : 9;
      for (size_t i = 0; i < count; ++i)
        if (listed(where[i], only_where)) row(&p, where[i], extent, batches, &distance);
      if (rank == 0) MPI_Type_free(&p.type);
    }
  close_distance(&distance);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
