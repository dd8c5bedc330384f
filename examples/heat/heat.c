/* SPDX-License-Identifier: Apache-2.0 */
/* Heat spreads in a square plate: the 2D heat equation by explicit steps.

   The plate is cut in blocks, one per rank. In every step each rank sends the border of its block
   to its four neighbours (nonblocking) and computes the inside of the block meanwhile; then it
   waits, and computes the border. The largest change (MPI_Allreduce) tells how far from rest the
   plate is. The field is the same to the last bit however many ranks there are and however they
   run: every point is computed by the same operations, and the largest change does not depend on an
   order. The checksum of the field shows it.

   With -w each rank puts its border where its neighbours have their halo (MPI_Put), in an epoch of
   MPI_Win_post and MPI_Win_start with them alone; the inside is computed before the epoch ends.

     heat [-n points] [-s steps] [-o picture.png] [-q] [-w] */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "png.h"

enum { north, south, west, east };

/* One rank's block: rows x cols points and a halo of one point around them. */
struct block {
  int rows, cols;         /* own points */
  int row0, col0;         /* where they are in the plate */
  int neighbor[4];        /* rank, or MPI_PROC_NULL at the plate's edge */
  double *now, *next;     /* (rows + 2) x (cols + 2) */
  unsigned char* is_held; /* points of fixed temperature */
  MPI_Datatype column;
  /* With a window: it has two fields, of which `now` is one; and what there is to know of the
     neighbours' halos. */
  MPI_Win win;
  int field; /* 0 or 1 */
  MPI_Group neighbors;
  struct {
    MPI_Aint first, points; /* where the halo begins in a field, and how many points a field has */
    int count;
    MPI_Datatype type;
  } halo_of[4];
};

static size_t at(const struct block* b, int row, int col) {
  return (size_t)row * (size_t)(b->cols + 2) + (size_t)col;
}

/* The split of `size` ranks in rows x cols that is nearest to a square. */
static void split(int size, int* rows, int* cols) {
  *rows = 1;
  for (int r = 1; r * r <= size; ++r)
    if (size % r == 0) *rows = r;
  *cols = size / *rows;
}

/* First index and length of part `part` of `parts` of n points. */
static void part_of(int n, int parts, int part, int* first, int* length) {
  *first = (int)((int64_t)n * part / parts);
  *length = (int)((int64_t)n * (part + 1) / parts) - *first;
}

/* The temperature at which a point of the plate is held, or -1: three discs and one edge. */
static double held_at(int n, int row, int col) {
  static const struct {
    double y, x, radius, temperature;
  } discs[] = {{0.30, 0.30, 0.08, 1.0}, {0.62, 0.70, 0.11, 0.85}, {0.75, 0.25, 0.05, 0.0}};
  const double y = (row + 0.5) / n, x = (col + 0.5) / n;
  for (size_t i = 0; i < sizeof discs / sizeof discs[0]; ++i) {
    const double dy = y - discs[i].y, dx = x - discs[i].x;
    if (dy * dy + dx * dx < discs[i].radius * discs[i].radius) return discs[i].temperature;
  }
  return row == n - 1 ? 0.6 : -1;
}

/* The halo that neighbor d has where this block is. */
static void find_halo(struct block* b, int n, int d, int rows, int cols) {
  int unused, height, width;
  part_of(n, rows, b->neighbor[d] / cols, &unused, &height);
  part_of(n, cols, b->neighbor[d] % cols, &unused, &width);
  const MPI_Aint pitch = width + 2;
  const MPI_Aint first[4] = {(height + 1) * pitch + 1, 1, pitch + width + 1, pitch};
  b->halo_of[d].first = first[d]; /* my row is below the halo's owner if that is in the north */
  b->halo_of[d].points = (height + 2) * pitch;
  b->halo_of[d].count = d == north || d == south ? b->cols : 1;
  b->halo_of[d].type = MPI_DOUBLE;
  if (d == north || d == south) return;
  MPI_Type_vector(b->rows, 1, (int)pitch, MPI_DOUBLE, &b->halo_of[d].type);
  MPI_Type_commit(&b->halo_of[d].type);
}

/* Two fields in a window, and who puts into it. */
static double* make_window(struct block* b, int n, int size, size_t points) {
  int rows, cols, ranks[4], count = 0;
  double* memory;
  split(size, &rows, &cols);
  MPI_Win_allocate((MPI_Aint)(2 * points * sizeof *memory), sizeof *memory, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &memory, &b->win);
  memset(memory, 0, 2 * points * sizeof *memory);
  for (int d = 0; d < 4; ++d) {
    if (b->neighbor[d] == MPI_PROC_NULL) continue;
    ranks[count++] = b->neighbor[d];
    find_halo(b, n, d, rows, cols);
  }
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, count, ranks, &b->neighbors);
  MPI_Group_free(&world);
  return memory;
}

static struct block make_block(int n, int rank, int size, int one_sided) {
  struct block b;
  int rows, cols;
  split(size, &rows, &cols);
  const int r = rank / cols, c = rank % cols;
  part_of(n, rows, r, &b.row0, &b.rows);
  part_of(n, cols, c, &b.col0, &b.cols);
  b.neighbor[north] = r > 0 ? rank - cols : MPI_PROC_NULL;
  b.neighbor[south] = r < rows - 1 ? rank + cols : MPI_PROC_NULL;
  b.neighbor[west] = c > 0 ? rank - 1 : MPI_PROC_NULL;
  b.neighbor[east] = c < cols - 1 ? rank + 1 : MPI_PROC_NULL;

  const size_t points = at(&b, b.rows + 2, 0);
  b.win = MPI_WIN_NULL;
  b.field = 0;
  if (one_sided) {
    b.now = make_window(&b, n, size, points);
    b.next = b.now + points;
  } else {
    b.now = calloc(points, sizeof *b.now);
    b.next = calloc(points, sizeof *b.next);
  }
  b.is_held = calloc(points, 1);
  if (b.now == NULL || b.next == NULL || b.is_held == NULL) {
    fprintf(stderr, "heat: no memory for %d x %d points\n", b.rows, b.cols);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int row = 1; row <= b.rows; ++row) {
    for (int col = 1; col <= b.cols; ++col) {
      const double held = held_at(n, b.row0 + row - 1, b.col0 + col - 1);
      if (held < 0) continue;
      b.is_held[at(&b, row, col)] = 1;
      b.now[at(&b, row, col)] = b.next[at(&b, row, col)] = held;
    }
  }
  MPI_Type_vector(b.rows, 1, b.cols + 2, MPI_DOUBLE, &b.column);
  MPI_Type_commit(&b.column);
  return b;
}

static void free_block(struct block* b) {
  MPI_Type_free(&b->column);
  free(b->is_held);
  if (b->win == MPI_WIN_NULL) {
    free(b->now);
    free(b->next);
    return;
  }
  MPI_Win_free(&b->win);
  MPI_Group_free(&b->neighbors);
  for (int d = 0; d < 4; ++d)
    if (b->neighbor[d] != MPI_PROC_NULL && b->halo_of[d].type != MPI_DOUBLE)
      MPI_Type_free(&b->halo_of[d].type);
}

/* Start the exchange of the halo: eight requests. */
static void start_exchange(struct block* b, MPI_Request requests[8]) {
  const struct {
    double *mine, *halo;
    int count;
    MPI_Datatype type;
  } side[4] = {
      {&b->now[at(b, 1, 1)], &b->now[at(b, 0, 1)], b->cols, MPI_DOUBLE},
      {&b->now[at(b, b->rows, 1)], &b->now[at(b, b->rows + 1, 1)], b->cols, MPI_DOUBLE},
      {&b->now[at(b, 1, 1)], &b->now[at(b, 1, 0)], 1, b->column},
      {&b->now[at(b, 1, b->cols)], &b->now[at(b, 1, b->cols + 1)], 1, b->column},
  };
  const int opposite[4] = {south, north, east, west};
  for (int d = 0; d < 4; ++d) /* what I receive from the north was sent to the south: tag `south` */
    MPI_Irecv(side[d].halo, side[d].count, side[d].type, b->neighbor[d], opposite[d],
              MPI_COMM_WORLD, &requests[d]);
  for (int d = 0; d < 4; ++d)
    MPI_Isend(side[d].mine, side[d].count, side[d].type, b->neighbor[d], d, MPI_COMM_WORLD,
              &requests[4 + d]);
}

/* Begin to put the border into the neighbours' halos. */
static void start_puts(struct block* b) {
  double* const mine[4] = {&b->now[at(b, 1, 1)], &b->now[at(b, b->rows, 1)], &b->now[at(b, 1, 1)],
                           &b->now[at(b, 1, b->cols)]};
  MPI_Win_post(b->neighbors, 0, b->win);
  MPI_Win_start(b->neighbors, 0, b->win);
  for (int d = 0; d < 4; ++d) {
    if (b->neighbor[d] == MPI_PROC_NULL) continue;
    const int is_row = d == north || d == south;
    MPI_Put(mine[d], is_row ? b->cols : 1, is_row ? MPI_DOUBLE : b->column, b->neighbor[d],
            b->field * b->halo_of[d].points + b->halo_of[d].first, b->halo_of[d].count,
            b->halo_of[d].type, b->win);
  }
}

/* One step of the points in rows [r0, r1), columns [c0, c1); returns the largest change. */
static double step(struct block* b, int r0, int r1, int c0, int c1) {
  double largest = 0;
  for (int row = r0; row < r1; ++row) {
    const double* up = &b->now[at(b, row - 1, 0)];
    const double* mid = &b->now[at(b, row, 0)];
    const double* down = &b->now[at(b, row + 1, 0)];
    const unsigned char* held = &b->is_held[at(b, row, 0)];
    double* out = &b->next[at(b, row, 0)];
    for (int col = c0; col < c1; ++col) {
      const double flow =
          0.2 * ((up[col] + down[col]) + (mid[col - 1] + mid[col + 1]) - 4 * mid[col]);
      const double change = held[col] ? 0 : flow;
      out[col] = mid[col] + change;
      largest = fabs(change) > largest ? fabs(change) : largest;
    }
  }
  return largest;
}

/* A whole step: exchange, the inside meanwhile, then the four borders. */
static double advance(struct block* b) {
  MPI_Request requests[8];
  const int one_sided = b->win != MPI_WIN_NULL;
  if (one_sided)
    start_puts(b);
  else
    start_exchange(b, requests);
  double largest = step(b, 2, b->rows, 2, b->cols);
  if (one_sided) {
    MPI_Win_complete(b->win);
    MPI_Win_wait(b->win);
  } else {
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  }
  const int last = b->rows > 1 ? b->rows : 2; /* a block of one row has one border row */
  const double border[4] = {
      step(b, 1, 2, 1, b->cols + 1),
      step(b, last, b->rows + 1, 1, b->cols + 1),
      step(b, 2, b->rows, 1, 2),
      b->cols > 1 ? step(b, 2, b->rows, b->cols, b->cols + 1) : 0,
  };
  for (int i = 0; i < 4; ++i) largest = border[i] > largest ? border[i] : largest;
  double* old = b->now;
  b->now = b->next;
  b->next = old;
  b->field = 1 - b->field;
  return largest;
}

/* Rank 0 gets the whole plate (to be freed); the others NULL. */
static double* gather(struct block* b, int n, int rank, int size) {
  MPI_Datatype inside;
  MPI_Request request;
  MPI_Type_vector(b->rows, b->cols, b->cols + 2, MPI_DOUBLE, &inside);
  MPI_Type_commit(&inside);
  MPI_Isend(&b->now[at(b, 1, 1)], 1, inside, 0, 0, MPI_COMM_WORLD, &request);
  double* plate = NULL;
  if (rank == 0) {
    plate = malloc((size_t)n * (size_t)n * sizeof *plate);
    if (plate == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    int rows, cols;
    split(size, &rows, &cols);
    for (int peer = 0; peer < size; ++peer) {
      int r0, c0, nr, nc;
      MPI_Datatype place;
      part_of(n, rows, peer / cols, &r0, &nr);
      part_of(n, cols, peer % cols, &c0, &nc);
      MPI_Type_vector(nr, nc, n, MPI_DOUBLE, &place);
      MPI_Type_commit(&place);
      MPI_Recv(&plate[(size_t)r0 * (size_t)n + (size_t)c0], 1, place, peer, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      MPI_Type_free(&place);
    }
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&inside);
  return plate;
}

/* FNV-1a of the bits of all values. */
static uint64_t checksum(const double* plate, size_t values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < values; ++i) {
    uint64_t bits;
    memcpy(&bits, &plate[i], sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

static void write_picture(const char* path, const double* plate, int n) {
  unsigned char* pixels = malloc((size_t)n * (size_t)n);
  if (pixels == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) pixels[i] = (unsigned char)(plate[i] * 255);
  if (png_write(path, pixels, n, n) != 0) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(pixels);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, n = 320, steps = 4000, quiet = 0, one_sided = 0, option;
  const char* picture = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while ((option = getopt(argc, argv, "n:s:o:qw")) != -1) {
    if (option == 'n') n = atoi(optarg);
    if (option == 's') steps = atoi(optarg);
    if (option == 'o') picture = optarg;
    if (option == 'q') quiet = 1;
    if (option == 'w') one_sided = 1;
  }
  if (n < size || n > 65000 || steps < 1) {
    if (rank == 0) fprintf(stderr, "heat: -n from %d (ranks) to 65000, -s from 1\n", size);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  struct block b = make_block(n, rank, size, one_sided);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  double residual = 0;
  for (int s = 1; s <= steps; ++s) {
    residual = advance(&b);
    if (s % 10 == 0 || s == steps)
      MPI_Allreduce(MPI_IN_PLACE, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  const double seconds = MPI_Wtime() - start;

  double* plate = gather(&b, n, rank, size);
  if (rank == 0) {
    if (picture != NULL) write_picture(picture, plate, n);
    if (!quiet) printf("%d x %d points, %d steps, %d ranks\n", n, n, steps, size);
    printf("checksum %016llx residual %.17g", (unsigned long long)checksum(plate, (size_t)n * n),
           residual);
    printf(quiet ? "\n" : "\ntime %.3f s\n", seconds);
  }
  free(plate);
  free_block(&b);
  MPI_Finalize();
  return 0;
}
