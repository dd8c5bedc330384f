// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_join: ranks 0 and 1 of the world have a socket, the others look on; what is no socket is
// refused.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../check.h"

// One end at rank 0, the other at rank 1.
static int make_end(void) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t length = sizeof at;
  char host[256] = "", here[256] = "";
  gethostname(here, sizeof here - 1);
  const int own = socket(AF_INET, SOCK_STREAM, 0);
  if (rank == 0) {
    CHECK(bind(own, (struct sockaddr*)&at, length) == 0 && listen(own, 1) == 0, "no socket");
    getsockname(own, (struct sockaddr*)&at, &length);
    // Nobody is in MPI while this one accepts: the messages have to be there.
    OK(MPI_Send(here, sizeof here, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
    OK(MPI_Ssend(&at.sin_port, 1, MPI_UINT16_T, 1, 0, MPI_COMM_WORLD));
    const int end = accept(own, NULL, NULL);
    close(own);
    return end;
  }
  OK(MPI_Recv(host, sizeof host, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&at.sin_port, 1, MPI_UINT16_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  struct addrinfo *found = NULL, wanted = {.ai_family = AF_INET};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (strcmp(host, here) != 0 && getaddrinfo(host, NULL, &wanted, &found) == 0) {
    at.sin_addr = ((struct sockaddr_in*)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
  }
  CHECK(connect(own, (struct sockaddr*)&at, length) == 0, "no connection");
  return own;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Comm inter = MPI_COMM_WORLD;
  int cls = -1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Error_class(MPI_Comm_join(-1, &inter), &cls));
  EQ(cls, MPI_ERR_ARG);
  for (int time = 0; time < 2 && size > 1 && rank < 2; ++time) {
    const int end = make_end();
    int n = -1, got = -1;
    char byte = (char)rank;
    OK(MPI_Comm_join(end, &inter));
    OK(MPI_Comm_remote_size(inter, &n));
    EQ(n, 1);
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    EQ(got, 1 - rank);
    // The socket is the user's again.
    EQ(write(end, &byte, 1), 1);
    EQ(read(end, &byte, 1), 1);
    EQ(byte, 1 - rank);
    OK(MPI_Comm_disconnect(&inter));
    close(end);
  }
  return finish();
}
