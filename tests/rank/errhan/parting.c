// SPDX-License-Identifier: Apache-2.0
// Ranks whose sizes or forms differ so that their calls go different ways: one through the block of
// the communicator, another along the levels of the node or as a schedule; and blocks of v forms
// that differ between two ranks. Nobody waits for ever, somebody gets an error, and nothing is
// written past the end (MPI-5.0 section 6.14 leaves it undefined).
#include "bad.h"

enum { large = 300000, stride = large + 64 };

static MPI_Comm new_comm(void) {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  return comm;
}

// How many ranks got an error, of an operation that everybody has left.
static int errors_in(int code) {
  int sum = 0, mine = code != MPI_SUCCESS;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return sum;
}

// Rank `odd` gives one size, the others give another.
static void sizes(int odd, int one, int other) {
  const int count = rank == odd ? one : other;
  double *in = alloc(large * sizeof *in), *out = alloc(large * sizeof *out);
  CHECK(errors_in(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, new_comm())) > 0,
        "allreduce of %d and %d elements: no error", one, other);
  CHECK(errors_in(MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, new_comm())) > 0,
        "reduce of %d and %d elements: no error", one, other);
  CHECK(errors_in(MPI_Bcast(in, count, MPI_DOUBLE, 0, new_comm())) > 0,
        "bcast of %d and %d elements: no error", one, other);
  free(in);
  free(out);
}

static int wait_for(int code, MPI_Request* request) {
  const int waited = MPI_Wait(request, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : waited;
}

// Rank `odd` calls one collective, the others another: its nonblocking form, or one that goes
// another way.
static void forms(int odd) {
  int *all = alloc(size * sizeof *all), *ones = alloc(size * sizeof *ones);
  int* places = alloc(size * sizeof *places);
  for (int i = 0; i < size; ++i) {
    ones[i] = 1;
    places[i] = i;
  }
  for (int kind = 0; kind < 4; ++kind) {
    MPI_Comm comm = new_comm();
    MPI_Request request = MPI_REQUEST_NULL;
    int in = rank, out = 0, code;
    OK(MPI_Ibarrier(comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (rank == odd) {
      code = kind == 1   ? MPI_Bcast(&in, 1, MPI_INT, odd, comm)
             : kind == 2 ? MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm)
                         : MPI_Barrier(comm);
    } else {
      code = kind == 0   ? MPI_Ibarrier(comm, &request)
             : kind == 1 ? MPI_Ibcast(&in, 1, MPI_INT, odd, comm, &request)
             : kind == 2 ? MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request)
                         : MPI_Allgatherv(&in, 1, MPI_INT, all, ones, places, MPI_INT, comm);
      code = wait_for(code, &request);
    }
    CHECK(errors_in(code) > 0, "kind %d of different calls: no error", kind);
  }
  free(all);
  free(ones);
  free(places);
}

// The last rank sends the first one `sent` bytes where that expects `expected`; the others agree.
static int exchange(int kind, int nonblocking, int sent, int expected, char* in, char* out) {
  const int last = size - 1;
  int *sends = alloc(size * sizeof *sends), *recvs = alloc(size * sizeof *recvs);
  int* at = alloc(size * sizeof *at);
  MPI_Comm comm = new_comm();
  MPI_Request request;
  int code;
  for (int i = 0; i < size; ++i) {
    sends[i] = recvs[i] = 100;
    at[i] = i * stride;
  }
  if (rank == last) sends[0] = kind == 2 ? 100 : sent;
  if (rank == 0) recvs[last] = expected;
  switch (2 * kind + nonblocking) {
    case 0:
      code =
          MPI_Gatherv(in, rank == last ? sent : 100, MPI_CHAR, out, recvs, at, MPI_CHAR, 0, comm);
      break;
    case 1:
      code = MPI_Igatherv(in, rank == last ? sent : 100, MPI_CHAR, out, recvs, at, MPI_CHAR, 0,
                          comm, &request);
      break;
    case 2:
      code = MPI_Scatterv(in, sends, at, MPI_CHAR, out, rank == 0 ? expected : 100, MPI_CHAR, last,
                          comm);
      break;
    case 3:
      code = MPI_Iscatterv(in, sends, at, MPI_CHAR, out, rank == 0 ? expected : 100, MPI_CHAR, last,
                           comm, &request);
      break;
    case 4:
      recvs[last] = rank == 0 ? expected : sent;
      code =
          MPI_Allgatherv(in, rank == last ? sent : 100, MPI_CHAR, out, recvs, at, MPI_CHAR, comm);
      break;
    case 5:
      recvs[last] = rank == 0 ? expected : sent;
      code = MPI_Iallgatherv(in, rank == last ? sent : 100, MPI_CHAR, out, recvs, at, MPI_CHAR,
                             comm, &request);
      break;
    case 6:
      code = MPI_Alltoallv(in, sends, at, MPI_CHAR, out, recvs, at, MPI_CHAR, comm);
      break;
    default:
      code = MPI_Ialltoallv(in, sends, at, MPI_CHAR, out, recvs, at, MPI_CHAR, comm, &request);
  }
  if (nonblocking) code = wait_for(code, &request);
  free(sends);
  free(recvs);
  free(at);
  return code;
}

static void blocks(int sent, int expected) {
  char *in = alloc((size_t)stride * size), *out = alloc((size_t)stride * size);
  memset(in, 7, (size_t)stride * size);
  for (int kind = 0; kind < 4; ++kind)
    for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
      memset(out, 1, (size_t)stride * size);
      const int failed = errors_in(exchange(kind, nonblocking, sent, expected, in, out));
      // Who expects nothing looks for nothing.
      CHECK(failed > 0 || expected == 0, "kind %d: %d bytes sent, %d expected: no error", kind,
            sent, expected);
      const char* block = out + (kind == 1 ? 0 : (size_t)stride * (size - 1));
      for (int i = expected; i < stride && rank == 0; ++i)
        if (block[i] != 1) DIE("kind %d: byte %d of %d was written", kind, i, expected);
    }
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  for (int odd = 0; odd < size; odd += size - 1) {
    sizes(odd, 1, 1000);
    sizes(odd, 1000, 1);
    sizes(odd, 1, large);
    sizes(odd, large, 1);
    forms(odd);
  }
  if (argc > 1 && strcmp(argv[1], "sizes") == 0) return finish();
  blocks(100, 99);
  blocks(99, 100);
  blocks(large, 100000);
  blocks(100000, large);
  blocks(large, 10);
  blocks(10, large);
  blocks(large, 0);
  blocks(0, large);
  return finish();
}
