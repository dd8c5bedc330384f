// SPDX-License-Identifier: Apache-2.0
// Sendrecv, Sendrecv_replace and their nonblocking forms: rings, different sizes, oneself,
// MPI_PROC_NULL.
#include "../check.h"

static const int lengths[] = {0, 1, 17, 64, 1023, 5000, 65537, 1000003};

static void ring(int bytes, int nonblocking) {
  unsigned char *out = alloc(bytes), *in = alloc(bytes + 5);
  const int from = left_of(rank), to = right_of(rank), more = bytes + 5;
  MPI_Request request;
  MPI_Status status;
  fill(out, bytes, rank);
  memset(in, 0x77, more);
  if (nonblocking) {
    OK(MPI_Isendrecv(out, bytes, MPI_BYTE, to, 3, in, more, MPI_BYTE, from, 3, MPI_COMM_WORLD,
                     &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_Sendrecv(out, bytes, MPI_BYTE, to, 3, in, more, MPI_BYTE, from, 3, MPI_COMM_WORLD,
                    &status));
  }
  STATUS(&status, from, 3, bytes);
  FILLED(in, bytes, from);
  CHECK(in[bytes] == 0x77, "%d bytes: written past the end", bytes);
  FILLED(out, bytes, rank);
  if (nonblocking) {
    OK(MPI_Isendrecv_replace(out, bytes, MPI_BYTE, to, rank + 10, from, from + 10, MPI_COMM_WORLD,
                             &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_Sendrecv_replace(out, bytes, MPI_BYTE, to, rank + 10, from, from + 10, MPI_COMM_WORLD,
                            &status));
  }
  STATUS(&status, from, from + 10, bytes);
  FILLED(out, bytes, from);
  free(out);
  free(in);
}

static void with_types(void) {
  enum { rows = 300 };
  int matrix[rows][3], column[rows];
  MPI_Datatype type;
  MPI_Status status;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < 3; ++j) matrix[i][j] = rank * 10000 + i * 3 + j;
  }
  OK(MPI_Type_vector(rows, 1, 3, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Sendrecv(&matrix[0][1], 1, type, right_of(rank), 4, column, rows, MPI_INT, left_of(rank),
                  4, MPI_COMM_WORLD, &status));
  for (int i = 0; i < rows; ++i) EQ(column[i], left_of(rank) * 10000 + i * 3 + 1);
  OK(MPI_Sendrecv_replace(&matrix[0][2], 1, type, right_of(rank), 5, left_of(rank), 5,
                          MPI_COMM_WORLD, &status));
  for (int i = 0; i < rows; ++i) {
    EQ(matrix[i][2], left_of(rank) * 10000 + i * 3 + 2);
    EQ(matrix[i][1], rank * 10000 + i * 3 + 1);
  }
  OK(MPI_Type_free(&type));
}

static void nobody(void) {
  int out = 3, in = 9;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0,
                  MPI_COMM_WORLD, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Isendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0,
                   MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Sendrecv_replace(&in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                          &status));
  EQ(in, 9);
  // A shift along a line: the ends have nobody on one side.
  const int to = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
            from = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  out = rank;
  in = -5;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, to, 8, &in, 1, MPI_INT, from, 8, MPI_COMM_WORLD, &status));
  EQ(in, rank > 0 ? rank - 1 : -5);
  STATUS(&status, from, rank > 0 ? 8 : MPI_ANY_TAG, rank > 0 ? 4 : 0);
  OK(MPI_Sendrecv(&out, 1, MPI_INT, rank, 9, &in, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &status));
  EQ(in, rank);
}

// A Sendrecv pairs with plain sends and receives.
static void with_plain(void) {
  int out = rank + 100, in = -1;
  const int peer = rank ^ 1;
  if (peer >= size) return;
  if (rank % 2) {
    OK(MPI_Recv(&in, 1, MPI_INT, peer, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Send(&out, 1, MPI_INT, peer, 12, MPI_COMM_WORLD));
  } else {
    OK(MPI_Sendrecv(&out, 1, MPI_INT, peer, 11, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  EQ(in, peer + 100);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    ring(lengths[i], 0);
    ring(lengths[i], 1);
  }
  with_types();
  nobody();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  with_plain();
  return finish();
}
