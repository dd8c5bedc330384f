// SPDX-License-Identifier: Apache-2.0
// More large messages under way than a rank's first copy jobs are for (480), both ways.
#include "../check.h"

enum { messages = 1100, bytes = 33000 };

static MPI_Request requests[2 * messages];

int main(int argc, char** argv) {
  start(&argc, &argv);
  unsigned char *in = alloc((size_t)messages * bytes), *out = alloc((size_t)messages + bytes);
  fill(out, (size_t)messages + bytes, (unsigned)rank);
  // Message i begins at byte i of the pattern.
  for (int i = 0; i < messages; ++i)
    OK(MPI_Isend(out + i, bytes, MPI_BYTE, right_of(rank), i, MPI_COMM_WORLD,
                 &requests[messages + i]));
  for (int i = 0; i < messages; ++i)
    OK(MPI_Irecv(in + (size_t)i * bytes, bytes, MPI_BYTE, left_of(rank), i, MPI_COMM_WORLD,
                 &requests[i]));
  OK(MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE));
  fill(out, (size_t)messages + bytes, (unsigned)left_of(rank));
  for (int i = 0; i < messages; ++i)
    CHECK(memcmp(in + (size_t)i * bytes, out + i, bytes) == 0, "message %d is wrong", i);
  free(in);
  free(out);
  return finish();
}
