// SPDX-License-Identifier: Apache-2.0
// Persistent requests of every mode: started one by one and together, inactive between, freed.
#include "../check.h"

enum { rounds = 20, longest = 100000 };

static void each_mode(int bytes) {
  unsigned char *out = alloc(bytes), *in[4];
  MPI_Request request[8];
  MPI_Status status[8];
  const int to = right_of(rank), from = left_of(rank);
  for (int i = 0; i < 4; ++i) {
    in[i] = alloc(bytes);
    OK(MPI_Recv_init(in[i], bytes, MPI_BYTE, from, 10 + i, MPI_COMM_WORLD, &request[i]));
  }
  OK(MPI_Send_init(out, bytes, MPI_BYTE, to, 10, MPI_COMM_WORLD, &request[4]));
  OK(MPI_Ssend_init(out, bytes, MPI_BYTE, to, 11, MPI_COMM_WORLD, &request[5]));
  OK(MPI_Bsend_init(out, bytes, MPI_BYTE, to, 12, MPI_COMM_WORLD, &request[6]));
  OK(MPI_Rsend_init(out, bytes, MPI_BYTE, to, 13, MPI_COMM_WORLD, &request[7]));
  for (int round = 0; round < rounds; ++round) {
    fill(out, bytes, round);
    for (int i = 0; i < 4; ++i) memset(in[i], 0xaa, bytes);
    if (round % 2) {
      OK(MPI_Startall(4, request));
    } else {
      for (int i = 0; i < 4; ++i) OK(MPI_Start(&request[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));  // the ready send's receive is posted everywhere
    OK(MPI_Startall(4, request + 4));
    OK(MPI_Waitall(8, request, status));
    for (int i = 0; i < 4; ++i) {
      STATUS(&status[i], from, 10 + i, bytes);
      FILLED(in[i], bytes, round);
    }
    for (int i = 0; i < 8; ++i)
      CHECK(request[i] != MPI_REQUEST_NULL, "persistent request %d became null after Waitall", i);
  }
  for (int i = 0; i < 8; ++i) {
    OK(MPI_Request_free(&request[i]));
    CHECK(request[i] == MPI_REQUEST_NULL, "Request_free left request %d as it was", i);
  }
  for (int i = 0; i < 4; ++i) free(in[i]);
  free(out);
}

// Waiting for an inactive request returns at once with the empty status.
static void inactive(void) {
  char byte = 0;
  MPI_Request request;
  MPI_Status status;
  int flag = 0, index = 0, cancelled = 1, count = -1;
  OK(MPI_Recv_init(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  STATUS(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  OK(MPI_Test_cancelled(&status, &cancelled));
  EQ(cancelled, 0);
  OK(MPI_Test(&request, &flag, &status));
  EQ(flag, 1);
  OK(MPI_Waitany(1, &request, &index, &status));
  EQ(index, MPI_UNDEFINED);
  OK(MPI_Testany(1, &request, &index, &flag, &status));
  EQ(flag, 1);
  EQ(index, MPI_UNDEFINED);
  OK(MPI_Waitsome(1, &request, &count, &index, &status));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Testsome(1, &request, &count, &index, &status));
  EQ(count, MPI_UNDEFINED);
  OK(MPI_Request_free(&request));
}

static void wildcards_and_proc_null(void) {
  int in = -1, out = rank;
  MPI_Request request[3];
  MPI_Status status[3];
  OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Send_init(&out, 1, MPI_INT, right_of(rank), 30 + rank, MPI_COMM_WORLD, &request[1]));
  OK(MPI_Send_init(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request[2]));
  for (int round = 0; round < rounds; ++round) {
    out = rank * 1000 + round;
    OK(MPI_Startall(3, request));
    OK(MPI_Waitall(3, request, status));
    EQ(in, left_of(rank) * 1000 + round);
    STATUS(&status[0], left_of(rank), 30 + left_of(rank), sizeof(int));
  }
  for (int i = 0; i < 3; ++i) OK(MPI_Request_free(&request[i]));
  OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request[0]));
  OK(MPI_Start(&request[0]));
  OK(MPI_Wait(&request[0], &status[0]));
  STATUS(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Request_free(&request[0]));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  const int lengths[] = {0, 1, 100, 5000, longest};
  for (int i = 0; i < 5; ++i) each_mode(lengths[i]);
  inactive();
  wildcards_and_proc_null();
  void* back;
  int back_size;
  OK(MPI_Buffer_detach(&back, &back_size));
  return finish();
}
