// SPDX-License-Identifier: Apache-2.0
// Ten thousand outstanding requests each way, all tags different, completed by Waitall, Waitsome
// and one by one from the back. A queue that is searched from its start every time takes too long
// here.
#include "../check.h"

enum { many = 10000 };
static int in[many], out[many];
static MPI_Request received[many], sent[many];
static MPI_Status status[many];
static int indices[many];

static void post(int reverse) {
  for (int i = 0; i < many; ++i) {
    const int tag = reverse ? many - 1 - i : i;
    in[tag] = -1;
    OK(MPI_Irecv(&in[tag], 1, MPI_INT, left_of(rank), tag, MPI_COMM_WORLD, &received[tag]));
  }
  for (int i = 0; i < many; ++i) {
    out[i] = rank * many + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, right_of(rank), i, MPI_COMM_WORLD, &sent[i]));
  }
}

static void verify(const char* how) {
  for (int i = 0; i < many; ++i) {
    if (in[i] != left_of(rank) * many + i)
      DIE("%s: message %d carries %d, expected %d", how, i, in[i], left_of(rank) * many + i);
  }
  ++checks;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  post(0);
  OK(MPI_Waitall(many, received, status));
  for (int i = 0; i < many; i += 997) STATUS(&status[i], left_of(rank), i, sizeof(int));
  OK(MPI_Waitall(many, sent, MPI_STATUSES_IGNORE));
  verify("Waitall");
  post(1);
  for (int done = 0, count = 0; done < many; done += count) {
    OK(MPI_Waitsome(many, received, &count, indices, status));
    if (count <= 0) DIE("Waitsome completed %d", count);
  }
  OK(MPI_Waitall(many, sent, MPI_STATUSES_IGNORE));
  verify("Waitsome");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  post(0);
  for (int i = many - 1; i >= 0; --i) OK(MPI_Wait(&received[i], &status[i]));
  OK(MPI_Waitall(many, sent, MPI_STATUSES_IGNORE));
  verify("Wait from the back");
  return finish();
}
