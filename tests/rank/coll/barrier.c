// SPDX-License-Identifier: Apache-2.0
// Nobody leaves a barrier before everybody has entered it: by the machine's one clock, with a
// different rank late each time, on the world and on parts of it.
#include <time.h>

#include "forms.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(MPI_Comm comm, int rounds) {
  int me, all;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &all));
  for (int round = 0; round < rounds; ++round) {
    double times[2], other[2];
    if (me == round % all) {
      const double until = now() + 0.003;
      while (now() < until) {
      }
    }
    times[0] = now();
    COLL(Barrier, barrier, comm);
    times[1] = now();
    // Everybody's times, by messages only.
    double entered = times[0], left = times[1];
    if (me == 0) {
      for (int from = 1; from < all; ++from) {
        OK(MPI_Recv(other, 2, MPI_DOUBLE, from, 1, comm, MPI_STATUS_IGNORE));
        entered = other[0] > entered ? other[0] : entered;
        left = other[1] < left ? other[1] : left;
      }
      CHECK(entered <= left, "round %d: one left %.1f us before the last entered", round,
            1e6 * (entered - left));
    } else {
      OK(MPI_Send(times, 2, MPI_DOUBLE, 0, 1, comm));
    }
  }
}

int main(int argc, char** argv) {
  start_form(&argc, &argv);
  MPI_Comm half;
  check(MPI_COMM_WORLD, 20);
  check(MPI_COMM_SELF, 3);
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
  check(half, 10);
  OK(MPI_Comm_free(&half));
  for (int i = 0; i < 200; ++i) COLL(Barrier, barrier, MPI_COMM_WORLD);
  return finish();
}
