// SPDX-License-Identifier: Apache-2.0
// Rank 0 waits on two communicators at once, which have locks and queues of their own with
// MPI_THREAD_MULTIPLE; rank 1 sends on one of them, with another tag, and waits for a reply.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, provided, count, indices[2], values[2] = {0, 0};
  MPI_Comm orders, results;
  MPI_Request requests[2];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &orders);
  MPI_Comm_set_name(orders, "orders");
  MPI_Comm_dup(MPI_COMM_WORLD, &results);
  MPI_Comm_set_name(results, "results");
  if (rank == 0) {
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 1, orders, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, results, &requests[1]);
    MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Send(values, 1, MPI_INT, 1, 3, orders);
  } else {
    MPI_Send(values, 1, MPI_INT, 0, 4, results);
    MPI_Recv(values, 1, MPI_INT, 0, 3, orders, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
