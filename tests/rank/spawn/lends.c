// SPDX-License-Identifier: Apache-2.0
// lends JOBS [MODE]: jobs one after the other, in the same places, and long messages from memory
// that a network borrows. The last parent comes late to each spawn, and looks after messages
// meanwhile: it hears of the new ranks by their messages first. Every other job it lets go of its
// sends and of the communicator while the network may still have them.
#include <unistd.h>

#include "family.h"

enum { bytes = 256 << 10, most_jobs = 64, children_each = 2 };

static unsigned seed(int job, int from) {
  return (unsigned)(job * 8 + from);
}

static int child(int job) {
  static unsigned char data[bytes];
  int n;
  OK(MPI_Comm_remote_size(parents, &n));
  fill(data, bytes, seed(job, rank));
  OK(MPI_Send(data, bytes, MPI_BYTE, n - 1, job, parents));
  for (int from = 0; from < n; ++from) {
    OK(MPI_Recv(data, bytes, MPI_BYTE, from, job, parents, MPI_STATUS_IGNORE));
    FILLED(data, bytes, seed(job, from));
  }
  OK(job % 2 == 0 ? MPI_Comm_disconnect(&parents) : MPI_Comm_free(&parents));
  return finish_child();
}

int main(int argc, char** argv) {
  if (start_family(&argc, &argv)) return child(atoi(argv[1]));
  static unsigned char sent[most_jobs][bytes], received[bytes];
  const int jobs = atoi(argv[1]);
  const int is_last = rank == size - 1;
  for (int job = 0; job < jobs && job < most_jobs; ++job) {
    for (double end = MPI_Wtime() + 0.05; is_last && MPI_Wtime() < end;) {
      int flag;
      OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    char number[16];
    snprintf(number, sizeof number, "%d", job);
    MPI_Comm children = spawn(argv[0], number, children_each, argc > 2 ? argv[2] : "");
    MPI_Request sends[children_each];
    fill(sent[job], bytes, seed(job, rank));
    for (int c = 0; c < children_each; ++c)
      OK(MPI_Isend(sent[job], bytes, MPI_BYTE, c, job, children, &sends[c]));
    for (int c = 0; is_last && c < children_each; ++c) {
      OK(MPI_Recv(received, bytes, MPI_BYTE, c, job, children, MPI_STATUS_IGNORE));
      FILLED(received, bytes, seed(job, c));
    }
    if (job % 2 == 0) {
      OK(MPI_Waitall(children_each, sends, MPI_STATUSES_IGNORE));
      OK(MPI_Comm_disconnect(&children));
    } else {
      for (int c = 0; c < children_each; ++c) OK(MPI_Request_free(&sends[c]));
      OK(MPI_Comm_free(&children));
      usleep(20000);
    }
  }
  return finish();
}
