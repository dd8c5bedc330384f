// SPDX-License-Identifier: Apache-2.0
// What making a communicator costs, in messages (MPI-5.0 §7.4.2): a duplicate is one broadcast of a
// number, so no rank sends more than lg p messages and all together p - 1; a split is a gather and
// a broadcast.
#include "../counter.h"

// Messages this rank and all ranks sent since `before`.
static void check_sent(const char* what, unsigned long long before, int most_here,
                       int all_together) {
  const int mine = (int)(counted() - before);
  int all = 0;
  CHECK(mine <= most_here, "%s: rank %d sent %d messages, expected at most %d", what, rank, mine,
        most_here);
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(all == all_together, "%s: %d messages, expected %d", what, all, all_together);
}

int main(int argc, char** argv) {
  int lg = 0;
  start(&argc, &argv);
  open_counter("messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  while (1 << lg < size) ++lg;

  MPI_Comm comm;
  MPI_Request request;
  unsigned long long before = counted();
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  check_sent("MPI_Comm_dup", before, lg, size - 1);
  OK(MPI_Comm_free(&comm));
  before = counted();
  OK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_sent("MPI_Comm_idup", before, lg, size - 1);
  OK(MPI_Comm_free(&comm));
  before = counted();
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm));
  check_sent("MPI_Comm_split", before, lg + 1, 2 * (size - 1));
  before = counted();
  OK(MPI_Comm_free(&comm));  // local
  check_sent("MPI_Comm_free", before, 0, 0);
  close_counter();
  return finish();
}
