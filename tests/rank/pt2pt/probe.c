// SPDX-License-Identifier: Apache-2.0
// Probe and Iprobe, exact and wild: what they report is what the next receive with the same
// arguments gets.
#include "../check.h"

enum { longest = 200000 };

static void probe_then_receive(int bytes, int wild_source, int wild_tag) {
  const int from = left_of(rank), tag = 100 + bytes % 1000;
  char *out = alloc(bytes), *in = alloc(bytes);
  MPI_Request request;
  MPI_Status status, got;
  fill(out, bytes, bytes);
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), tag, MPI_COMM_WORLD, &request));
  const int source = wild_source ? MPI_ANY_SOURCE : from, want = wild_tag ? MPI_ANY_TAG : tag;
  if (wild_source == wild_tag) {
    OK(MPI_Probe(source, want, MPI_COMM_WORLD, &status));
  } else {
    for (int flag = 0; !flag;) OK(MPI_Iprobe(source, want, MPI_COMM_WORLD, &flag, &status));
  }
  STATUS(&status, from, tag, bytes);
  // A probe takes nothing away: a second one sees the same.
  int flag = 0;
  OK(MPI_Iprobe(source, want, MPI_COMM_WORLD, &flag, &got));
  EQ(flag, 1);
  STATUS(&got, from, tag, bytes);
  OK(MPI_Recv(in, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &got));
  STATUS(&got, from, tag, bytes);
  FILLED(in, bytes, bytes);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  free(out);
  free(in);
}

// With several messages waiting, a probe for one tag finds it behind others, and wild probes follow
// the order.
static void among_several(void) {
  int value[3] = {1, 2, 3}, got = 0, flag = 1;
  MPI_Request request[3];
  MPI_Status status;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i)
    OK(MPI_Isend(&value[i], 1, MPI_INT, right_of(rank), 50 + i, MPI_COMM_WORLD, &request[i]));
  OK(MPI_Probe(left_of(rank), 52, MPI_COMM_WORLD, &status));
  STATUS(&status, left_of(rank), 52, sizeof(int));
  OK(MPI_Probe(left_of(rank), MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  STATUS(&status, left_of(rank), 50, sizeof(int));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, 53, MPI_COMM_WORLD, &flag, &status));
  EQ(flag, 0);
  for (int i = 2; i >= 0; --i) {
    OK(MPI_Recv(&got, 1, MPI_INT, left_of(rank), 50 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(got, value[i]);
  }
  OK(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  EQ(flag, 0);
}

static void other_communicator(void) {
  MPI_Comm comm;
  int flag = 1, value = 7, got = 0;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Isend(&value, 1, MPI_INT, right_of(rank), 60, comm, &request));
  OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  EQ(flag, 0);
  OK(MPI_Recv(&got, 1, MPI_INT, left_of(rank), 60, comm, MPI_STATUS_IGNORE));
  EQ(got, 7);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status));
  EQ(flag, 1);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int lengths[] = {0, 1, 64, 3000, 70000, longest};
  for (int i = 0; i < 6; ++i) {
    for (int wild = 0; wild < 4; ++wild) probe_then_receive(lengths[i], wild & 1, wild >> 1);
  }
  among_several();
  other_communicator();
  return finish();
}
