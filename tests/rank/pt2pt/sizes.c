// SPDX-License-Identifier: Apache-2.0
// Messages from 0 bytes to 8 MiB, at odd lengths and alignments of both buffers; no byte outside is
// touched.
#include "../check.h"

enum { most = 8 << 20, guard = 128 };

static void pass(unsigned char* out, unsigned char* in, int bytes, int out_shift, int in_shift) {
  MPI_Request request;
  MPI_Status status;
  const int from = left_of(rank);
  fill(out + out_shift, bytes, bytes + rank);
  memset(in, 0x3c, guard);
  memset(in + in_shift + bytes, 0x3c, guard);
  OK(MPI_Irecv(in + in_shift, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Send(out + out_shift, bytes, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  STATUS(&status, from, 1, bytes);
  if (!FILLED(in + in_shift, bytes, bytes + from))
    DIE("%d bytes, from alignment %d to %d", bytes, out_shift, in_shift);
  for (int i = 0; i < in_shift; ++i) {
    if (in[i] != 0x3c) DIE("%d bytes: byte %d before the buffer was written", bytes, in_shift - i);
  }
  for (int i = 0; i < guard; ++i) {
    if (in[in_shift + bytes + i] != 0x3c)
      DIE("%d bytes: byte %d past the end was written", bytes, i);
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  unsigned char *out = aligned_alloc(64, most + 2 * guard),
                *in = aligned_alloc(64, most + 2 * guard);
  if (!out || !in) DIE("cannot allocate");
  for (int bytes = 0; bytes <= 300; ++bytes) pass(out, in, bytes, bytes % 13, bytes % 7);
  for (long bytes = 512; bytes <= most; bytes *= 2) {
    for (int off = -1; off <= 1; ++off) {
      const long length = bytes + off > most ? most : bytes + off;
      pass(out, in, (int)length, 0, 0);
      if (length < 1 << 20 || off == 1)
        pass(out, in, (int)length, 1 + (int)(length % 63), 61 - (int)(length % 59));
    }
  }
  free(out);
  free(in);
  return finish();
}
