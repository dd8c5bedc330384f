// SPDX-License-Identifier: Apache-2.0
// So many blocking sends of a length that threads try both ways for them, copied once and pushed,
// and change to what is faster: each message is right and in its place among the others, whatever
// way it goes and the one before went, from one block and with gaps.
#include "../check.h"

enum { line = 64, messages = 4000, to_right = 1, back = 2 };

static unsigned char stamp(int i, int from, size_t at) {
  return (unsigned char)(i * 31 + from * 7 + at / line);
}

static void fill_lines(unsigned char* data, size_t bytes, int i, int from) {
  for (size_t at = 0; at < bytes; at += line) data[at] = stamp(i, from, at);
}

/* Of each `step`th line; between these nothing was written. */
static void check_lines(const unsigned char* data, size_t bytes, size_t step, int i, int from) {
  ++checks;
  for (size_t at = 0; at < bytes; at += line) {
    const int expected = at / line % step == 0 ? stamp(i, from, at) : 0;
    if (data[at] != expected)
      DIE("message %d, %zu bytes long: byte %zu is %d, expected %d", i, bytes, at, data[at],
          expected);
  }
}

/* There, behind a nonblocking one of another way, and back. */
static void rows(MPI_Datatype type, int count, size_t extent, size_t step) {
  const int partner = rank ^ 1;
  unsigned char *out = calloc(extent, 1), *in = calloc(extent, 1);
  if (partner >= size) return free(out), free(in);
  for (int i = 0; i < messages; ++i) {
    int first = -1;
    MPI_Request request;
    if (rank < partner) {
      fill_lines(out, extent, i, rank);
      OK(MPI_Isend(&i, 1, MPI_INT, partner, to_right, MPI_COMM_WORLD, &request));
      OK(MPI_Send(out, count, type, partner, to_right, MPI_COMM_WORLD));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Recv(in, count, type, partner, back, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Recv(&first, 1, MPI_INT, partner, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      EQ(first, i);
      OK(MPI_Recv(in, count, type, partner, to_right, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      fill_lines(out, extent, i, rank);
      OK(MPI_Send(out, count, type, partner, back, MPI_COMM_WORLD));
    }
    check_lines(in, extent, step, i, partner);
    OK(MPI_Sendrecv(out, count, type, partner, to_right, in, count, type, partner, to_right,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_lines(in, extent, step, i, partner);
  }
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  static const int sizes[] = {40000, 100000, 200000};
  start(&argc, &argv);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
    rows(MPI_BYTE, sizes[i], (size_t)sizes[i], 1);
  MPI_Datatype gaps; /* the first half of every two lines */
  const int blocks = 700;
  OK(MPI_Type_vector(blocks, line, 2 * line, MPI_BYTE, &gaps));
  OK(MPI_Type_commit(&gaps));
  rows(gaps, 1, (size_t)blocks * 2 * line, 2);
  OK(MPI_Type_free(&gaps));
  return finish();
}
