// SPDX-License-Identifier: Apache-2.0
// Ranks that disagree in a collective. A message longer than its place is noticed by who receives
// it; everything else by all with WEFT_ABI_CHECK=full (MPI-5.0 section 6.14 leaves it undefined).
#include "bad.h"

static int class_of(int code) {
  int class = 0;
  OK(MPI_Error_class(code, &class));
  return class;
}

enum { kinds = 8 };

// Rank 0 does one thing, the others another: call, root, size, operation, a persistent form.
static int differ(int kind, MPI_Comm comm) {
  int in[4] = {rank, 1, 2, 3}, out[64] = {0};
  const int odd = rank == 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  switch (kind) {
    case 0:
      return MPI_Bcast(in, 1, MPI_INT, odd ? 0 : 1, comm);
    case 1:
      return MPI_Allreduce(in, out, odd ? 2 : 1, MPI_INT, MPI_SUM, comm);
    case 2:
      return MPI_Reduce(in, out, 1, MPI_INT, odd ? MPI_MAX : MPI_MIN, 0, comm);
    case 3:
      return odd ? MPI_Barrier(comm) : MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    case 4:
      return MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, odd ? 0 : 1, comm);
    case 5:
      code = odd ? MPI_Ibarrier(comm, &request) : MPI_Ibcast(in, 1, MPI_INT, 0, comm, &request);
      break;
    case 6:
      return odd ? MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm)
                 : MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    default:
      code = MPI_Scan_init(in, out, 1, MPI_INT, odd ? MPI_SUM : MPI_PROD, comm, MPI_INFO_NULL,
                           &request);
      if (code == MPI_SUCCESS) code = MPI_Start(&request);
  }
  const int wait = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));
  return code != MPI_SUCCESS ? code : wait;
}

// With WEFT_ABI_CHECK=full every rank gets the error, and the text names both calls; the next
// collectives on the same communicator work.
static void full(void) {
  static const int class[kinds] = {MPI_ERR_ROOT, MPI_ERR_TRUNCATE, MPI_ERR_OP,    MPI_ERR_OTHER,
                                   MPI_ERR_ROOT, MPI_ERR_OTHER,    MPI_ERR_OTHER, MPI_ERR_OP};
  static const char* const names[kinds][2] = {
      {"MPI_Bcast(root 0", "MPI_Bcast(root 1"},
      {"8 bytes", "4 bytes"},
      {"MPI_MAX", "MPI_MIN"},
      {"MPI_Barrier", "MPI_Allgather"},
      {"MPI_Gather(root 0", "MPI_Gather(root 1"},
      {"MPI_Ibarrier", "MPI_Ibcast"},
      {"MPI_Neighbor_allgather", "MPI_Neighbor_alltoall"},
      {"MPI_SUM", "MPI_Scan_init"},
  };
  MPI_Comm comm;
  const int periodic = 1;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm));
  OK(MPI_Comm_set_name(comm, "the ocean"));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (int kind = 0; kind < kinds; ++kind) {
    char text[MPI_MAX_ERROR_STRING];
    int length, sum = 0;
    const int code = differ(kind, comm);
    EQ(class_of(code), class[kind]);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, names[kind][0]) && strstr(text, names[kind][1]) && strstr(text, "the ocean"),
          "'%s' does not name %s and %s and the communicator", text, names[kind][0],
          names[kind][1]);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    EQ(sum, size * (size - 1) / 2);
  }
  OK(MPI_Comm_free(&comm));
}

static void truncation(int bytes, int room) {
  MPI_Comm comm;
  char* data = alloc(bytes);
  int worst = 0, mine;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  memset(data, 7, bytes);
  mine = class_of(MPI_Bcast(data, rank == 0 ? bytes : room, MPI_CHAR, 0, comm));
  for (int i = room; i < bytes && rank; ++i) {
    if (data[i] != 7) DIE("a broadcast of %d bytes into %d wrote past the end", bytes, room);
  }
  OK(MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(worst == MPI_ERR_TRUNCATE,
        "%d bytes broadcast into %d gave class %d at worst, expected MPI_ERR_TRUNCATE", bytes, room,
        worst);
  free(data);
}

// A reduction of different sizes that go the same way is noticed without further ado.
static void sizes(void) {
  MPI_Comm comm;
  double in[8] = {1}, out[8];
  int worst = 0, mine;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  mine = MPI_Allreduce(in, out, rank == 0 ? 2 : 3, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS;
  OK(MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  EQ(worst, 1);
}

// A message that is too long is an error of the whole operation, also when steps follow that go
// well.
static void later_steps(void) {
  MPI_Comm comm;
  MPI_Request request;
  int in[4] = {1, 2, 3, 4}, out[4], worst = 0, mine;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Iallreduce(in, out, rank == 0 ? 4 : 1, MPI_INT, MPI_SUM, comm, &request));
  mine = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  EQ(worst, MPI_ERR_TRUNCATE);
}

// The only rank sends itself more than it has room for.
static void alone(void) {
  char out[8] = {0}, in[4];
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  EQ(class_of(MPI_Gather(out, 8, MPI_CHAR, in, 4, MPI_CHAR, 0, MPI_COMM_SELF)), MPI_ERR_TRUNCATE);
  EQ(class_of(MPI_Scatter(out, 8, MPI_CHAR, in, 4, MPI_CHAR, 0, MPI_COMM_SELF)), MPI_ERR_TRUNCATE);
  EQ(class_of(MPI_Allgather(out, 8, MPI_CHAR, in, 4, MPI_CHAR, MPI_COMM_SELF)), MPI_ERR_TRUNCATE);
  EQ(class_of(MPI_Alltoall(out, 8, MPI_CHAR, in, 4, MPI_CHAR, MPI_COMM_SELF)), MPI_ERR_TRUNCATE);
}

// A rank that sends itself more than its place holds: everybody is told.
static void own_part(int bytes) {
  MPI_Comm comm;
  char *out = alloc((size_t)bytes * size), *in = alloc((size_t)bytes * size);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  const int sent = rank == 1 ? bytes : bytes / 2;
  EQ(class_of(MPI_Allgather(out, sent, MPI_CHAR, in, bytes / 2, MPI_CHAR, comm)), MPI_ERR_TRUNCATE);
  EQ(class_of(MPI_Alltoall(out, sent, MPI_CHAR, in, bytes / 2, MPI_CHAR, comm)), MPI_ERR_TRUNCATE);
  // Nothing at all is too little.
  const int count = rank == 1 ? 0 : bytes;
  CHECK(MPI_Allgather(out, count, MPI_CHAR, in, bytes, MPI_CHAR, comm) != MPI_SUCCESS,
        "rank 1 sent 0 bytes instead of %d, and rank %d got no error", bytes, rank);
  free(out);
  free(in);
}

enum { calls = 9, most = 400000 };

static int collective(int call, char* out, char* in, int n, MPI_Comm comm) {
  switch (call) {
    case 0:
      return MPI_Bcast(out, n, MPI_CHAR, 0, comm);
    case 1:
      return MPI_Scatter(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, comm);
    case 2:
      return MPI_Gather(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, comm);
    case 3:
      return MPI_Allgather(out, n, MPI_CHAR, in, n, MPI_CHAR, comm);
    case 4:
      return MPI_Alltoall(out, n, MPI_CHAR, in, n, MPI_CHAR, comm);
    case 5:
      return MPI_Reduce(out, in, n, MPI_UINT8_T, MPI_SUM, 0, comm);
    case 6:
      return MPI_Allreduce(out, in, n, MPI_UINT8_T, MPI_SUM, comm);
    case 7:
      return MPI_Scan(out, in, n, MPI_UINT8_T, MPI_SUM, comm);
    default:
      return MPI_Reduce_scatter_block(out, in, n, MPI_UINT8_T, MPI_SUM, comm);
  }
}

// Rank 0 has one size, the others another one: somebody is told (`everybody`: all are), whichever
// is larger, whether both go the same way or not, and nobody waits for ever.
static void two_sizes(int mine, int theirs, int everybody) {
  char *out = alloc((size_t)most * size), *in = alloc((size_t)most * size);
  memset(out, 1, (size_t)most * size);
  for (int call = 0; call < calls; ++call) {
    MPI_Comm comm;
    int errors = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    const int class = class_of(collective(call, out, in, rank == 0 ? mine : theirs, comm));
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE || class == MPI_ERR_COUNT,
          "call %d of %d and %d bytes gave class %d", call, mine, theirs, class);
    OK(MPI_Allreduce((int[]){class != MPI_SUCCESS}, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(errors >= (everybody ? size : 1),
          "call %d of %d and %d bytes: %d of %d ranks got an error", call, mine, theirs, errors,
          size);
    OK(MPI_Comm_free(&comm));
  }
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  start_returning(&argc, &argv);
  const int sizes_of_bytes[][2] = {{4, 8},       {40, 100}, {40, 1000},
                                   {1000, 8192}, {8, most}, {100000, most}};
  alone();
  const char* what = argc > 1 ? argv[1] : "";
  const int by_messages = strcmp(what, "messages") == 0, all_told = strcmp(what, "full") == 0;
  for (size_t i = 0; i < sizeof sizes_of_bytes / sizeof sizes_of_bytes[0]; ++i) {
    const int a = sizes_of_bytes[i][0], b = sizes_of_bytes[i][1];
    // Else two algorithms, which wait for each other; over nodes those of an alltoall differ
    // earlier.
    if (by_messages && b > 100) continue;
    two_sizes(a, b, all_told);
    two_sizes(b, a, all_told);
  }
  if (by_messages) return finish();
  if (all_told) {
    two_sizes(0, 8, 1);
    two_sizes(8, 0, 1);
  }
  if (all_told) {
    full();
    own_part(16);
    own_part(200000);
  } else {
    truncation(100, 50);
    truncation(500000, 50);
    truncation(500000, 499999);
    truncation(4096, 4095);
    truncation(4097, 4096);
    sizes();
    own_part(16);
    own_part(200000);
    later_steps();
  }
  return finish();
}
