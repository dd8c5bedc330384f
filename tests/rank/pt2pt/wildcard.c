// SPDX-License-Identifier: Apache-2.0
// MPI_ANY_SOURCE and MPI_ANY_TAG: posted early and late, mixed with exact receives, in the order
// the standard gives.
#include "../check.h"

// Rank 0 takes a message of each peer and round by wildcards; each must come once.
static void gather_any(int early) {
  enum { rounds = 50 };
  const int total = (size - 1) * rounds;
  if (rank == 0) {
    int *value = alloc(sizeof(int) * (total + 1)), *seen = calloc(total + 1, sizeof(int));
    MPI_Request* request = alloc(sizeof(MPI_Request) * (total + 1));
    for (int i = 0; i < total && early; ++i)
      OK(MPI_Irecv(&value[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                   &request[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < total; ++i) {
      MPI_Status status;
      if (early) {
        OK(MPI_Wait(&request[i], &status));
      } else {
        OK(MPI_Recv(&value[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      }
      const int from = status.MPI_SOURCE, round = status.MPI_TAG;
      if (from < 1 || from >= size || round < 0 || round >= rounds)
        DIE("source %d, tag %d", from, round);
      EQ(value[i], from * 1000 + round);
      EQ(seen[(from - 1) * rounds + round]++, 0);
      // From one sender they arrive in the order they were sent.
      if (round > 0) EQ(seen[(from - 1) * rounds + round - 1], 1);
    }
    free(value);
    free(seen);
    free(request);
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < rounds; ++i) {
      const int value = rank * 1000 + i;
      OK(MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Receives posted as (any, 5), (left, any), (left, 5), (any, any): messages with tags 5, 6, 5, 7
// fill them as the order rule says: each message takes the first posted receive that fits.
static void mixed(void) {
  const int from = left_of(rank), tags[4] = {5, 6, 5, 7};
  int in[4] = {-1, -1, -1, -1}, out[4];
  MPI_Request request[4];
  MPI_Status status[4];
  OK(MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Irecv(&in[1], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Irecv(&in[2], 1, MPI_INT, from, 5, MPI_COMM_WORLD, &request[2]));
  OK(MPI_Irecv(&in[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[3]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 4; ++i) {
    out[i] = 10 + i;
    OK(MPI_Send(&out[i], 1, MPI_INT, right_of(rank), tags[i], MPI_COMM_WORLD));
  }
  OK(MPI_Waitall(4, request, status));
  for (int i = 0; i < 4; ++i) {
    EQ(in[i], 10 + i);
    STATUS(&status[i], from, tags[i], sizeof(int));
  }
}

// The same order when the messages wait and the receives come late, in another order of tags.
static void late(void) {
  const int from = left_of(rank);
  int in = -1;
  MPI_Status status;
  MPI_Request request[4];
  int out[4] = {0, 1, 2, 3};
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 4; ++i)
    OK(MPI_Isend(&out[i], 1, MPI_INT, right_of(rank), 20 + i % 2, MPI_COMM_WORLD, &request[i]));
  OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &status));
  EQ(in, 1);
  OK(MPI_Recv(&in, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  EQ(in, 0);
  OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  EQ(in, 2);
  EQ(status.MPI_TAG, 20);
  OK(MPI_Recv(&in, 1, MPI_INT, from, 21, MPI_COMM_WORLD, &status));
  EQ(in, 3);
  OK(MPI_Waitall(4, request, MPI_STATUSES_IGNORE));
}

// The largest legal tag works, and tag 0.
static void tag_bounds(void) {
  int *upper = NULL, flag = 0, in = -1, out = 6;
  MPI_Status status;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &flag));
  EQ(flag, 1);
  if (!flag) return;
  CHECK(*upper >= 32767, "MPI_TAG_UB is %d, expected at least 32767", *upper);
  const int tags[2] = {0, *upper};
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Sendrecv(&out, 1, MPI_INT, right_of(rank), tags[i], &in, 1, MPI_INT, left_of(rank),
                    tags[i], MPI_COMM_WORLD, &status));
    STATUS(&status, left_of(rank), tags[i], sizeof(int));
    EQ(in, 6);
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  gather_any(0);
  gather_any(1);
  mixed();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  late();
  tag_bounds();
  return finish();
}
