// SPDX-License-Identifier: Apache-2.0
// Messages to oneself, through MPI_COMM_SELF and MPI_COMM_WORLD, in every order of send and
// receive.
#include "../check.h"

static void both_orders(MPI_Comm comm, int me, int bytes) {
  unsigned char *out = alloc(bytes), *in = alloc(bytes);
  MPI_Request sent, got;
  MPI_Status status;
  for (int receive_first = 0; receive_first < 2; ++receive_first) {
    fill(out, bytes, bytes + receive_first);
    memset(in, 0, bytes);
    if (receive_first) OK(MPI_Irecv(in, bytes, MPI_BYTE, me, 5, comm, &got));
    OK(MPI_Isend(out, bytes, MPI_BYTE, me, 5, comm, &sent));
    if (!receive_first) OK(MPI_Irecv(in, bytes, MPI_BYTE, me, 5, comm, &got));
    OK(MPI_Wait(&got, &status));
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    STATUS(&status, me, 5, bytes);
    FILLED(in, bytes, bytes + receive_first);
  }
  // A synchronous send to oneself is not complete before its receive.
  int flag = 1;
  OK(MPI_Issend(out, bytes, MPI_BYTE, me, 6, comm, &sent));
  for (int i = 0; i < 10; ++i) {
    OK(MPI_Test(&sent, &flag, MPI_STATUS_IGNORE));
    EQ(flag, 0);
  }
  OK(MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
  STATUS(&status, me, 6, bytes);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  // A blocking send works when the receive is there.
  OK(MPI_Irecv(in, bytes, MPI_BYTE, me, 7, comm, &got));
  OK(MPI_Ssend(out, bytes, MPI_BYTE, me, 7, comm));
  OK(MPI_Wait(&got, &status));
  FILLED(in, bytes, bytes + 1);
  free(out);
  free(in);
}

static void with_types(void) {
  enum { n = 100 };
  int square[n][n], turned[n][n];
  MPI_Datatype column, spaced, transposed;
  MPI_Request request;
  for (int i = 0; i < n * n; ++i) square[i / n][i % n] = i;
  OK(MPI_Type_vector(n, 1, n, MPI_INT, &column));
  OK(MPI_Type_create_resized(column, 0, sizeof(int), &spaced));
  OK(MPI_Type_contiguous(n, spaced, &transposed));
  OK(MPI_Type_commit(&transposed));
  OK(MPI_Isend(square, 1, transposed, 0, 1, MPI_COMM_SELF, &request));
  OK(MPI_Recv(turned, n * n, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int wrong = 0;
  for (int i = 0; i < n * n; ++i) wrong += turned[i / n][i % n] != square[i % n][i / n];
  EQ(wrong, 0);
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&spaced));
  OK(MPI_Type_free(&transposed));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int lengths[] = {0, 1, 64, 4097, 100000, 3000001};
  for (int i = 0; i < 6; ++i) {
    both_orders(MPI_COMM_SELF, 0, lengths[i]);
    both_orders(MPI_COMM_WORLD, rank, lengths[i]);
  }
  with_types();
  return finish();
}
