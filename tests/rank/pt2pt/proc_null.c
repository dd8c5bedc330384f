// SPDX-License-Identifier: Apache-2.0
// MPI_PROC_NULL: every call returns at once, leaves the buffer alone and gives the status of
// nobody.
#include "../check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  int data = 11;
  MPI_Request request[8];
  MPI_Status status;
  const MPI_Comm world = MPI_COMM_WORLD;
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  OK(MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world));
  OK(MPI_Ssend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world));
  OK(MPI_Bsend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world));
  OK(MPI_Rsend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world));
  OK(MPI_Isend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request[0]));
  OK(MPI_Issend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request[1]));
  OK(MPI_Ibsend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request[2]));
  OK(MPI_Irsend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request[3]));
  OK(MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request[4]));
  OK(MPI_Send_init(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request[5]));
  OK(MPI_Ssend_init(&data, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request[6]));
  OK(MPI_Recv_init(&data, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, world, &request[7]));
  OK(MPI_Startall(3, request + 5));
  OK(MPI_Wait(&request[4], &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Waitall(8, request, MPI_STATUSES_IGNORE));
  for (int i = 5; i < 8; ++i) OK(MPI_Request_free(&request[i]));
  memset(&status, 0, sizeof status);
  OK(MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 3, world, &status));
  STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  OK(MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, world, MPI_STATUS_IGNORE));
  EQ(data, 11);
  void* back;
  int bytes;
  OK(MPI_Buffer_detach(&back, &bytes));
  return finish();
}
