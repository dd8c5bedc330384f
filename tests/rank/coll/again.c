// SPDX-License-Identifier: Apache-2.0
// Calls that come again with the same arguments, in any order and with other ones between: ranks
// keep schedules of them (coll/launch.cc), and some have the same buffers where others have not.
#include "../check.h"

enum { buffers = 2, most = 2100 };  // elements: below and above what is kept

static long in[buffers][most + 1], out[buffers][most + 1];
static MPI_Comm comms[2];

static unsigned next(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 16;
}

static long value(int turn, int who, long i) {
  return turn * 31L + who * 7 + i % 101;
}

static void fill_turn(long* x, int count, int turn) {
  for (int i = 0; i < count; ++i) x[i] = value(turn, rank, i);
  x[count] = -5;
}

static void compare(const char* what, const long* got, int count, int turn, int is_max) {
  for (int i = 0; i < count; ++i) {
    long expected = is_max ? value(turn, size - 1, i) : 0;
    for (int who = 0; who < size && !is_max; ++who) expected += value(turn, who, i);
    CHECK(got[i] == expected, "%s in turn %d: item %d of %d is %ld, expected %ld", what, turn, i,
          count, got[i], expected);
  }
  CHECK(got[count] == -5, "%s in turn %d wrote past the end", what, turn);
}

static void reduce(int turn, unsigned* all, int count, long* mine, long* result, MPI_Comm comm) {
  const int is_max = next(all) % 2, in_place = next(all) % 3 == 0, form = next(all) % 5;
  const MPI_Op op = is_max ? MPI_MAX : MPI_SUM;
  const int root = (int)(next(all) % (unsigned)size);
  fill_turn(mine, count, turn);
  fill_turn(result, count, turn);
  if (form == 0) {
    MPI_Request request;
    OK(MPI_Iallreduce(in_place ? MPI_IN_PLACE : mine, result, count, MPI_LONG, op, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    compare("Iallreduce", result, count, turn, is_max);
  } else if (form < 3) {
    OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : mine, result, count, MPI_LONG, op, comm));
    compare("Allreduce", result, count, turn, is_max);
  } else {
    OK(MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : mine, result, count, MPI_LONG, op, root,
                  comm));
    if (rank == root) compare("Reduce", result, count, turn, is_max);
  }
}

// A type that ends may leave its address to another one.
static void bcast(int turn, unsigned* all, int count, long* x, MPI_Comm comm) {
  const int root = (int)(next(all) % (unsigned)size), form = next(all) % 4;
  for (int i = 0; i <= count; ++i) x[i] = rank == root && i < count ? value(turn, root, i) : -5;
  if (form == 0) {
    const int stride = 2 + turn % 2;
    MPI_Datatype type;
    OK(MPI_Type_vector(count / stride, 1, stride, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Bcast(x, 1, type, root, comm));
    OK(MPI_Type_free(&type));
    for (int i = 0; i < count / stride; ++i)
      CHECK(x[i * stride] == value(turn, root, i * stride), "Bcast of every item %d", stride);
    return;
  }
  if (form == 1)
    OK(MPI_Bcast(x, count * (int)sizeof *x, MPI_BYTE, root, comm));
  else
    OK(MPI_Bcast(x, count, MPI_LONG, root, comm));
  for (int i = 0; i < count; ++i)
    CHECK(x[i] == value(turn, root, i), "Bcast in turn %d: item %d is %ld", turn, i, x[i]);
  CHECK(x[count] == -5, "Bcast in turn %d wrote past the end", turn);
}

static void other_hints(int turn) {
  static const char* const ways[] = {"auto", "nodes", "recursive_doubling"};
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "weft_coll_allreduce", ways[turn % 3]));
  OK(MPI_Comm_set_info(comms[0], info));
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  unsigned all = 1, own = 1000u + (unsigned)rank;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
  static const int counts[] = {1, 4, 60, most};
  for (int turn = 0; turn < 600; ++turn) {
    const int count = counts[next(&all) % 4];
    const MPI_Comm comm = comms[next(&all) % 4 == 0];
    const unsigned at = turn % 3 == 0 ? next(&own) % buffers : 0;
    switch (next(&all) % 5) {
      case 0:
        OK(MPI_Barrier(comm));
        break;
      case 1:
      case 2:
        bcast(turn, &all, count, out[at], comm);
        break;
      default:
        reduce(turn, &all, count, in[at], out[at], comm);
    }
    if (turn % 150 == 149) other_hints(turn / 150);
  }
  OK(MPI_Comm_free(&comms[0]));
  OK(MPI_Comm_free(&comms[1]));
  return finish();
}
