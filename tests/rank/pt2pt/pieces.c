// SPDX-License-Identifier: Apache-2.0
// Messages that travel in pieces, whatever the receiver does meanwhile: nothing, a probe, a matched
// probe, a receive with less room, or with gaps. With a small ring (testlist) a message is longer
// than the ring, so that its pieces wait for room and the match happens between two of them.
#include "../errhan/bad.h"

enum { small_tag = 1, piece_tag = 2 };

static void same(const unsigned char* got, int got_step, const unsigned char* want, int want_step,
                 int n, const char* how) {
  ++checks;
  for (size_t i = 0; i < (size_t)n; ++i) {
    if (got[i * got_step] != want[i * want_step])
      DIE("%s: byte %zu of %d is %d, expected %d", how, i, n, got[i * got_step],
          want[i * want_step]);
  }
}

// Two messages of `bytes` to the right, from one block or (step 2) with gaps, and a small one that
// must not overtake. The first is matched by MPI_Mprobe and waits; the second is cut.
static void row(int bytes, int step) {
  const size_t extent = 2 * (size_t)bytes;
  unsigned char *out = alloc(extent), *in = alloc(extent), *want = alloc(extent), last = 0;
  MPI_Datatype gaps;
  MPI_Request request[3];
  MPI_Status status;
  MPI_Message message;
  int count, flag = 0, class;
  OK(MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &gaps));
  OK(MPI_Type_commit(&gaps));
  fill(out, extent, rank + 1);
  fill(want, extent, left_of(rank) + 1);
  for (int i = 0; i < 2; ++i)
    OK(MPI_Isend(out, step == 2 ? 1 : bytes, step == 2 ? gaps : MPI_BYTE, right_of(rank), piece_tag,
                 MPI_COMM_WORLD, &request[i]));
  OK(MPI_Isend(out, 1, MPI_BYTE, right_of(rank), small_tag, MPI_COMM_WORLD, &request[2]));

  while (!flag) OK(MPI_Iprobe(left_of(rank), piece_tag, MPI_COMM_WORLD, &flag, &status));
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  EQ(count, bytes);
  OK(MPI_Mprobe(left_of(rank), piece_tag, MPI_COMM_WORLD, &message, &status));
  const int room = bytes - bytes / 3;
  memset(in, 0xcd, extent);
  OK(MPI_Error_class(
      MPI_Recv(in, room, MPI_BYTE, left_of(rank), piece_tag, MPI_COMM_WORLD, &status), &class));
  EQ(class, MPI_ERR_TRUNCATE);
  same(in, 1, want, step, room, "cut message");
  for (size_t i = (size_t)room; i < extent; ++i) {
    if (in[i] != 0xcd)
      DIE("cut message of %d bytes: byte %zu, past the end, was written", bytes, i);
  }
  OK(MPI_Mrecv(in, 1, gaps, &message, &status));
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  EQ(count, bytes);
  same(in, 2, want, step, bytes, "matched message");
  OK(MPI_Recv(&last, 1, MPI_BYTE, MPI_ANY_SOURCE, small_tag, MPI_COMM_WORLD, &status));
  EQ(last, want[0]);
  OK(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
  OK(MPI_Type_free(&gaps));
  free(out);
  free(in);
  free(want);
}

// Everybody to everybody at once: pieces of several senders alternate in one ring.
static void crowd(int bytes) {
  MPI_Request* request = alloc(2 * (size_t)size * sizeof *request);
  unsigned char** in = alloc((size_t)size * sizeof *in);
  unsigned char* out = alloc((size_t)bytes);
  fill(out, (size_t)bytes, rank + 1);
  for (int i = 0; i < size; ++i)
    OK(MPI_Isend(out, bytes, MPI_BYTE, i, 3, MPI_COMM_WORLD, &request[size + i]));
  for (int i = 0; i < size; ++i) {
    in[i] = alloc((size_t)bytes);
    OK(MPI_Irecv(in[i], bytes, MPI_BYTE, i, 3, MPI_COMM_WORLD, &request[i]));
  }
  OK(MPI_Waitall(2 * size, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < size; ++i) {
    fill(out, (size_t)bytes, i + 1);
    same(in[i], 1, out, 1, bytes, "crowd");
    free(in[i]);
  }
  free(in);
  free(out);
  free(request);
}

int main(int argc, char** argv) {
  static const int sizes[] = {8191, 8192, 8193, 16384, 16385, 32768, 32769, 50000, 131073, 400000};
  start_returning(&argc, &argv);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    row(sizes[i], 1);
    row(sizes[i], 2);
    crowd(sizes[i]);
  }
  return finish();
}
