// SPDX-License-Identifier: Apache-2.0
// lost: rank 1 takes three messages, and when many more are on their way its connections are cut,
// and it says no more; rank 0 sends for ever.
#include <mpi.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void cut(void) {
  for (int fd = 0; fd < 1024; ++fd) {
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    if (getpeername(fd, (struct sockaddr*)&peer, &length) == 0 && peer.sin_family == AF_INET)
      shutdown(fd, SHUT_RDWR);
  }
}

int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (; rank == 0; ++value) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 1 && i < 3; ++i)
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  usleep(300000);
  cut();
  sleep(60);
  MPI_Finalize();
  return 0;
}
