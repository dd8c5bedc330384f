// SPDX-License-Identifier: Apache-2.0
// Large messages, which ranks on other nodes read from the sender's memory: lengths about those of
// the pieces in which they are read, a buffer that cannot be written, one side with gaps, many both
// ways with short messages among them, receives that are too short, and sends that nobody waits for
// until MPI_Finalize. Counted: each that crosses, is one block on both sides and is too long to be
// announced is read.
#include "../counter.h"

enum { many = 12, announced = 1 << 20 };

static int far_left;  // is the left neighbour on another node?

static void look_around(void) {
  MPI_Comm node;
  MPI_Group world, here;
  const int left = left_of(rank);
  int place = MPI_UNDEFINED;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Comm_group(node, &here));
  OK(MPI_Group_translate_ranks(world, 1, &left, here, &place));
  far_left = place == MPI_UNDEFINED;
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&here));
  OK(MPI_Comm_free(&node));
}

static void round_trip(int bytes, int room, int early) {
  unsigned char *out = alloc(bytes), *in = alloc(room + 64);
  MPI_Request sent, request;
  const unsigned long long before = counted();
  fill(out, bytes, rank + bytes);
  memset(in, 0xcd, room + 64);
  if (early) OK(MPI_Irecv(in, room, MPI_BYTE, left_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 1, MPI_COMM_WORLD, &sent));
  if (!early) OK(MPI_Irecv(in, room, MPI_BYTE, left_of(rank), 1, MPI_COMM_WORLD, &request));
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &class));
  EQ(class, room < bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  FILLED(in, room < bytes ? room : bytes, left_of(rank) + bytes);
  for (int i = 0; i < 64; ++i) CHECK(in[room + i] == 0xcd, "byte %d past the end was written", i);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  if (bytes > announced) EQ(counted() - before, far_left);
  free(out);
  free(in);
}

static const unsigned char constant[200000] = {1, 2, 3};

static void read_only(void) {
  unsigned char* in = alloc(sizeof constant);
  OK(MPI_Sendrecv(constant, sizeof constant, MPI_BYTE, right_of(rank), 2, in, sizeof constant,
                  MPI_BYTE, left_of(rank), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(memcmp(in, constant, sizeof constant) == 0, "a constant array came otherwise");
  free(in);
}

// Every second int on one side.
static void gaps(int of_sender) {
  enum { n = 100000 };
  int *out = malloc(2 * n * sizeof *out), *in = malloc(2 * n * sizeof *in);
  MPI_Datatype vector;
  OK(MPI_Type_vector(n, 1, 2, MPI_INT, &vector));
  OK(MPI_Type_commit(&vector));
  for (int i = 0; i < 2 * n; ++i) out[i] = rank + 3 * i, in[i] = -1;
  const unsigned long long before = counted();
  OK(MPI_Sendrecv(out, of_sender ? 1 : n, of_sender ? vector : MPI_INT, right_of(rank), 3, in,
                  of_sender ? n : 1, of_sender ? MPI_INT : vector, left_of(rank), 3, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += in[of_sender ? i : 2 * i] != left_of(rank) + 3 * (of_sender ? 2 * i : i);
  EQ(wrong, 0);
  EQ(counted() - before, 0);
  OK(MPI_Type_free(&vector));
  free(out);
  free(in);
}

// Large and short in turns, to both neighbours, received in another order.
static void many_at_once(void) {
  enum { large = 300000 };
  unsigned char *out[many], *in[many];
  int short_out[many], short_in[many];
  MPI_Request request[4 * many];
  for (int i = 0; i < many; ++i) {
    const int to = i % 2 ? right_of(rank) : left_of(rank);
    out[i] = alloc(large + i), in[i] = alloc(large + i);
    fill(out[i], large + i, rank + i);
    short_out[i] = 100 * rank + i;
    OK(MPI_Isend(out[i], large + i, MPI_BYTE, to, i, MPI_COMM_WORLD, &request[i]));
    OK(MPI_Isend(&short_out[i], 1, MPI_INT, to, many + i, MPI_COMM_WORLD, &request[many + i]));
  }
  for (int i = many - 1; i >= 0; --i) {
    const int from = i % 2 ? left_of(rank) : right_of(rank);
    OK(MPI_Irecv(&short_in[i], 1, MPI_INT, from, many + i, MPI_COMM_WORLD, &request[2 * many + i]));
    OK(MPI_Irecv(in[i], large + i, MPI_BYTE, from, i, MPI_COMM_WORLD, &request[3 * many + i]));
  }
  OK(MPI_Waitall(4 * many, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < many; ++i) {
    const int from = i % 2 ? left_of(rank) : right_of(rank);
    EQ(short_in[i], 100 * from + i);
    FILLED(in[i], large + i, from + i);
    free(out[i]);
    free(in[i]);
  }
}

int main(int argc, char** argv) {
  enum { piece = 1 << 20 };
  start(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  look_around();
  open_counter("net_reads", MPI_T_PVAR_CLASS_COUNTER);
  for (int early = 0; early < 2; ++early) {
    round_trip(300000, 300000, early);
    round_trip(piece, piece, early);
    round_trip(piece + 1, 2 * piece, early);
    round_trip(3 * piece - 1, 3 * piece - 1, early);
    round_trip(5 * piece + 64, 5 * piece + 64, early);
    round_trip(2 * piece, piece + 5, early);
  }
  read_only();
  gaps(1);
  gaps(0);
  many_at_once();
  close_counter();
  // Rank 0 is in MPI_Finalize, or on its way, while the others read.
  static unsigned char last[400000];
  MPI_Request request;
  if (rank == 0) {
    fill(last, sizeof last, 7);
    for (int peer = 1; peer < size; ++peer) {
      OK(MPI_Isend(last, sizeof last, MPI_BYTE, peer, 9, MPI_COMM_WORLD, &request));
      OK(MPI_Request_free(&request));
    }
  } else {
    unsigned char* in = alloc(sizeof last);
    OK(MPI_Recv(in, sizeof last, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FILLED(in, (int)sizeof last, 7);
    free(in);
  }
  return finish();
}
