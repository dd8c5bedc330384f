// SPDX-License-Identifier: Apache-2.0
// On a machine with small caches (declared by the testlist) rank 0 sends rows of large messages:
// between processes those that reach the receiver while rank 0 waits for all of them go past the
// caches, the others do not, and all bring the right data. A row that fits the caches does not, nor
// do messages between threads of a process. Counted with two ranks; with more, of which the others
// only wait, the data is checked.
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>  // the process's number; getpid is the rank's
#include <unistd.h>

#include "../counter.h"

enum { in_row = 6, large = 300001, small = 1000, most_rows = 1000 };

static unsigned char* data[in_row];

// The receiver comes `late_us` later, so that the sender waits by then.
static void row(int bytes, int seed, int late_us) {
  MPI_Request request[in_row];
  if (rank > 1) return;
  if (rank == 1) usleep((useconds_t)late_us);
  for (int i = 0; i < in_row; ++i) {
    if (rank == 0) {
      fill(data[i], bytes, seed + i);
      OK(MPI_Isend(data[i], bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request[i]));
    } else {
      memset(data[i], 0, large);
      OK(MPI_Irecv(data[i], large, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request[i]));
    }
  }
  OK(MPI_Waitall(in_row, request, MPI_STATUSES_IGNORE));
  for (int i = 0; i < in_row; ++i) FILLED(data[i], bytes, seed + i);
}

static int may_go_past(void) {
  cpu_set_t cpus;
  const long pid = syscall(SYS_getpid);
  long other = 0;
  if (size > 2) return 0;
  OK(MPI_Sendrecv(&pid, 1, MPI_LONG, 1 - rank, 7, &other, 1, MPI_LONG, 1 - rank, 7, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  return pid != other && sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) >= size;
}

int main(int argc, char** argv) {
  int again = 1;
  start(&argc, &argv);
  open_counter("past_caches", MPI_T_PVAR_CLASS_AGGREGATE);
  for (int i = 0; i < in_row; ++i) data[i] = alloc(large);
  row(small, 1, 0);
  EQ(counted(), 0);
  const int expected = may_go_past();
  for (int k = 0; k < most_rows && again; ++k) {
    row(large, 2 + k, k < 100 ? 10 * k : 1000);
    again = expected && counted() == 0;
    OK(MPI_Bcast(&again, 1, MPI_INT, 1, MPI_COMM_WORLD));
  }
  if (rank == 1 && size == 2) {
    const unsigned long long bytes = counted();
    CHECK(expected ? bytes > 0 && bytes % large == 0 : bytes == 0, "%llu bytes past the caches",
          bytes);
  }
  for (int i = 0; i < in_row; ++i) free(data[i]);
  close_counter();
  return finish();
}
