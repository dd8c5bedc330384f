/* SPDX-License-Identifier: Apache-2.0 */
/* What derived datatypes cost. A row `pack-x` is MPI_Pack of one buffer, `unpack-x` the reverse,
   and `loop-x` the loop that a programmer would write by hand (memcpy for one block); bytes are
   those of the data. `send-x` is half a ping-pong of that type between two ranks, data and room
   both spread. vec        every second double, in pairs: vector(n, 2, 4) sub        a face of a
   cube: subarray of a 3D array, last index fixed vecvec     vector of vectors: every second row,
   every second double idx        blocks of 4 doubles at growing distances: indexed dense      one
   block `commit` makes, commits and frees an indexed type of bytes/8 blocks; `dup` duplicates and
   frees MPI_COMM_WORLD. */
#include "../rows.h"

enum { most_doubles = 1 << 18 };

/* The layout of a row: a type and the loop that does the same. */
struct layout {
  MPI_Datatype type;
  long n, m; /* counts of the loops */
  int* places;
};
static struct layout now; /* of the row that runs */
static long now_bytes = -1;
static int now_kind;
static double* spread; /* 8 times the data, for any layout */

enum kind { vec, sub, vecvec, idx, dense };

static void lay(struct bench* b, enum kind kind) {
  if (now_bytes == b->bytes && now_kind == (int)kind) return;
  const long doubles = b->bytes / 8;
  if (now_bytes >= 0) MPI_Type_free(&now.type);
  if (spread == NULL) {
    spread = malloc(sizeof(double) * 8 * most_doubles);
    now.places = malloc(sizeof(int) * most_doubles);
    for (long i = 0; i < 8L * most_doubles; ++i) spread[i] = (double)i;
  }
  now_bytes = b->bytes;
  now_kind = kind;
  MPI_Datatype row;
  switch (kind) {
    case vec:
      now.n = doubles / 2;
      MPI_Type_vector((int)now.n, 2, 4, MPI_DOUBLE, &now.type);
      break;
    case sub: {
      for (now.n = 1; now.n * now.n < doubles; now.n *= 2) {
      }
      now.m = doubles / now.n;
      const int sizes[3] = {(int)now.n, (int)now.m, 8};
      const int part[3] = {(int)now.n, (int)now.m, 1}, start[3] = {0, 0, 0};
      MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &now.type);
      break;
    }
    case vecvec:
      for (now.n = 1; now.n * now.n < doubles; now.n *= 2) {
      }
      now.m = doubles / now.n;
      MPI_Type_vector((int)now.m, 1, 2, MPI_DOUBLE, &row);
      MPI_Type_create_hvector((int)now.n, 1, (MPI_Aint)(4 * now.m * 8), row, &now.type);
      MPI_Type_free(&row);
      break;
    case idx:
      now.n = doubles / 4;
      for (long i = 0; i < now.n; ++i) now.places[i] = (int)(i * 5 + i % 3);
      MPI_Type_create_indexed_block((int)now.n, 4, now.places, MPI_DOUBLE, &now.type);
      break;
    case dense:
      now.n = doubles;
      MPI_Type_contiguous((int)doubles, MPI_DOUBLE, &now.type);
      break;
  }
  MPI_Type_commit(&now.type);
}

static void loop(enum kind kind, double* restrict out, const double* restrict in) {
  const long n = now.n, m = now.m;
  switch (kind) {
    case vec:
      for (long i = 0; i < n; ++i) {
        out[2 * i] = in[4 * i];
        out[2 * i + 1] = in[4 * i + 1];
      }
      break;
    case sub:
      for (long i = 0; i < n; ++i)
        for (long j = 0; j < m; ++j) out[i * m + j] = in[(i * m + j) * 8];
      break;
    case vecvec:
      for (long i = 0; i < n; ++i)
        for (long j = 0; j < m; ++j) out[i * m + j] = in[i * 4 * m + 2 * j];
      break;
    case idx:
      for (long i = 0; i < n; ++i)
        for (int k = 0; k < 4; ++k) out[4 * i + k] = in[now.places[i] + k];
      break;
    case dense:
      memcpy(out, in, (size_t)n * sizeof *out);
      break;
  }
}

static void do_pack(struct bench* b, enum kind kind) {
  int at = 0;
  lay(b, kind);
  MPI_Pack(spread, 1, now.type, b->result, (int)b->bytes, &at, MPI_COMM_WORLD);
  if (at != b->bytes) ++b->errors;
}
static void do_unpack(struct bench* b, enum kind kind) {
  int at = 0;
  lay(b, kind);
  MPI_Unpack(b->result, (int)b->bytes, &at, spread, 1, now.type, MPI_COMM_WORLD);
}
static void do_loop(struct bench* b, enum kind kind) {
  lay(b, kind);
  loop(kind, b->result, spread);
}
static void do_send(struct bench* b, enum kind kind) {
  lay(b, kind);
  if (b->rank == 0) {
    MPI_Send(spread, 1, now.type, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(spread, 1, now.type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (b->rank == 1) {
    MPI_Recv(spread, 1, now.type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(spread, 1, now.type, 0, 1, MPI_COMM_WORLD);
  }
}

#define KIND(name)                             \
  static void pack_##name(struct bench* b) {   \
    do_pack(b, name);                          \
  }                                            \
  static void unpack_##name(struct bench* b) { \
    do_unpack(b, name);                        \
  }                                            \
  static void loop_##name(struct bench* b) {   \
    do_loop(b, name);                          \
  }                                            \
  static void send_##name(struct bench* b) {   \
    do_send(b, name);                          \
  }
KIND(vec)
KIND(sub)
KIND(vecvec)
KIND(idx)
KIND(dense)

static void commit(struct bench* b) {
  lay(b, idx);
  MPI_Datatype type;
  const int blocks = (int)(b->bytes / 8);
  for (int i = 0; i < blocks; ++i) now.places[i] = i * 3 + i % 2;
  MPI_Type_create_indexed_block(blocks, 1, now.places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
}
static void comm_dup(struct bench* b) {
  (void)b;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
}

#define SIZES \
  { 1024, 16384, 262144, 1 << 20 }
#define ROWS(name)                                              \
  {"loop-" #name, loop_##name, 0, 1, 1, 1, 0, SIZES},           \
      {"pack-" #name, pack_##name, 0, 1, 1, 1, 0, SIZES},       \
      {"unpack-" #name, unpack_##name, 0, 1, 1, 1, 0, SIZES}, { \
    "send-" #name, send_##name, 2, 1, 2, 1, 0, SIZES            \
  }
static const struct row rows[] = {
    ROWS(vec),
    ROWS(sub),
    ROWS(vecvec),
    ROWS(idx),
    ROWS(dense),
    {"commit", commit, 0, 1, 1, 1, 0, {8000, 80000}},
    {"dup", comm_dup, 0, 1, 1, 8, 0, {8}},
};

int main(int argc, char** argv) {
  return run_rows(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
