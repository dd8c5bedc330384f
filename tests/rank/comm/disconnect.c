// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_disconnect (MPI-5.0 §11.10.4) waits for communication under way whose requests were
// freed, and for nothing else: inactive persistent requests may outlive the communicator's handle.
#include "../check.h"

enum { bytes = 1 << 20 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Comm comm;
  MPI_Request send, receive, barrier, lost[2];
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Send_init(NULL, 0, MPI_INT, right_of(rank), 0, comm, &send));
  OK(MPI_Recv_init(NULL, 0, MPI_INT, left_of(rank), 0, comm, &receive));
  OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &barrier));
  for (int i = 0; i < 2; ++i) {  // one round, so that they are inactive again
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }
  unsigned char *out = alloc(bytes), *in = alloc(bytes);
  memset(in, 0, bytes);
  fill(out, bytes, rank);
  OK(MPI_Irecv(in, bytes, MPI_BYTE, left_of(rank), 1, comm, &lost[0]));
  OK(MPI_Isend(out, bytes, MPI_BYTE, right_of(rank), 1, comm, &lost[1]));
  OK(MPI_Request_free(&lost[0]));
  OK(MPI_Request_free(&lost[1]));
  OK(MPI_Comm_disconnect(&comm));
  CHECK(comm == MPI_COMM_NULL, "Comm_disconnect left the handle as it was");
  FILLED(in, bytes, left_of(rank));
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
  OK(MPI_Request_free(&barrier));
  free(out);
  free(in);
  return finish();
}
