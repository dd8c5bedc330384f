// SPDX-License-Identifier: Apache-2.0
// Nonblocking and persistent collectives in numbers: many outstanding at once, completed out of
// order, started again with new data, mixed with messages, and progress while the caller computes
// and tests.
#include "../check.h"

enum { many = 30, count = 500 };
static int out[many][count], in[many][count];

static void fill_round(int round) {
  for (int k = 0; k < many; ++k) {
    for (int i = 0; i < count; ++i) {
      out[k][i] = rank * 100 + k * 7 + i + round;
      in[k][i] = -1;
    }
  }
}

static void verify(int round) {
  int wrong = 0;
  for (int k = 0; k < many; ++k) {
    for (int i = 0; i < count; ++i)
      wrong += in[k][i] != size * (size - 1) / 2 * 100 + size * (k * 7 + i + round);
  }
  CHECK(wrong == 0, "round %d: %d sums wrong", round, wrong);
}

static void outstanding(void) {
  MPI_Request request[many + 2];
  int token = -1;
  fill_round(0);
  for (int k = 0; k < many; ++k)
    OK(MPI_Iallreduce(out[k], in[k], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[k]));
  OK(MPI_Irecv(&token, 1, MPI_INT, left_of(rank), 1, MPI_COMM_WORLD, &request[many]));
  OK(MPI_Isend(&rank, 1, MPI_INT, right_of(rank), 1, MPI_COMM_WORLD, &request[many + 1]));
  for (int k = many - 1; k >= 0; k -= 2) OK(MPI_Wait(&request[k], MPI_STATUS_IGNORE));
  OK(MPI_Waitall(many + 2, request, MPI_STATUSES_IGNORE));
  EQ(token, left_of(rank));
  verify(0);
}

static void started_again(void) {
  MPI_Request request[many];
  for (int k = 0; k < many; ++k) {
    OK(MPI_Allreduce_init(out[k], in[k], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &request[k]));
  }
  for (int round = 1; round <= 5; ++round) {
    fill_round(round);
    OK(MPI_Startall(many, request));
    OK(MPI_Waitall(many, request, MPI_STATUSES_IGNORE));
    verify(round);
  }
  for (int k = 0; k < many; ++k) OK(MPI_Request_free(&request[k]));
}

// Ibarrier completes only when all have entered, and then without any further blocking call of the
// others.
static void barrier_by_test(void) {
  MPI_Request request;
  int flag = 0;
  for (int round = 0; round < 50; ++round) {
    if (rank == 0) {  // everybody else has entered at the latest when it gets this message
      OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
      for (int to = 1; to < size; ++to) OK(MPI_Send(&round, 1, MPI_INT, to, 2, MPI_COMM_WORLD));
    } else {
      int got = -1;
      OK(MPI_Recv(&got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      EQ(got, round);
      OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    }
    for (flag = 0; !flag;) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  }
  // Not complete while one is missing.
  if (rank == 0) {
    for (int to = 1; to < size; ++to)
      OK(MPI_Recv(NULL, 0, MPI_INT, to, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  } else {
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (int i = 0; i < 50; ++i) {
      OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      EQ(flag, 0);
    }
    OK(MPI_Send(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD));
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// The same request kinds in one list, of different communicators, by Waitany.
static void mixed(void) {
  MPI_Comm comm;
  MPI_Request request[4];
  int value = rank == 0 ? 5 : -1, all = 0, index, *gathered = alloc(sizeof(int) * size), wrong = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &request[0]));
  OK(MPI_Iallreduce(&rank, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Iallgather(&rank, 1, MPI_INT, gathered, 1, MPI_INT, comm, &request[2]));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &request[3]));
  for (int i = 0; i < 4; ++i) OK(MPI_Waitany(4, request, &index, MPI_STATUS_IGNORE));
  EQ(value, 5);
  EQ(all, size - 1);
  for (int who = 0; who < size; ++who) wrong += gathered[who] != who;
  EQ(wrong, 0);
  free(gathered);
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  outstanding();
  started_again();
  barrier_by_test();
  mixed();
  return finish();
}
