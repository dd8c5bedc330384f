// SPDX-License-Identifier: Apache-2.0
// A rank that waits long sleeps: after the first 10 ms it uses less than 1 % of a CPU, in every
// waiting call, and wakes promptly. Each rank measures its own thread.
#include <time.h>

#include "../check.h"

static double clock_of(clockid_t which) {
  struct timespec t;
  clock_gettime(which, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work_for(double seconds) {
  const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

static const double seconds_late = 0.5;
static const char* const names[] = {"Recv",    "Wait",    "Probe",     "Ssend",
                                    "Waitany", "Barrier", "Allreduce", "Mprobe"};
enum { calls = 8 };

static void wait_in(int which) {
  int value = 0, sum, index;
  MPI_Request request;
  MPI_Status status;
  MPI_Message message;
  const MPI_Comm world = MPI_COMM_WORLD;
  switch (which) {
    case 0:
      OK(MPI_Recv(&value, 1, MPI_INT, 0, which, world, &status));
      break;
    case 1:
      OK(MPI_Irecv(&value, 1, MPI_INT, 0, which, world, &request));
      OK(MPI_Wait(&request, &status));
      break;
    case 2:
      OK(MPI_Probe(0, which, world, &status));
      OK(MPI_Recv(&value, 1, MPI_INT, 0, which, world, &status));
      break;
    case 3:
      OK(MPI_Ssend(&value, 1, MPI_INT, 0, which, world));
      break;
    case 4:
      OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, which, world, &request));
      OK(MPI_Waitany(1, &request, &index, &status));
      break;
    case 5:
      OK(MPI_Barrier(world));
      break;
    case 6:
      OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, world));
      break;
    default:
      OK(MPI_Mprobe(0, which, world, &message, &status));
      OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
  }
}

// What rank 0, late, does for everybody.
static void release(int which) {
  int value = 5, sum;
  if (which == 5) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
  } else if (which == 6) {
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  } else {
    for (int to = 1; to < size; ++to) {
      if (which == 3) {
        OK(MPI_Recv(&value, 1, MPI_INT, to, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      } else {
        OK(MPI_Send(&value, 1, MPI_INT, to, which, MPI_COMM_WORLD));
      }
    }
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int only = argc > 1 ? atoi(argv[1]) : -1;
  for (int which = 0; which < calls; ++which) {
    if (only >= 0 && which != only) continue;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
      work_for(seconds_late);
      release(which);
      continue;
    }
    const double cpu = clock_of(CLOCK_THREAD_CPUTIME_ID), wall = clock_of(CLOCK_MONOTONIC);
    wait_in(which);
    const double used = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu,
                 waited = clock_of(CLOCK_MONOTONIC) - wall;
    // 10 ms to spin, then 1 %.
    CHECK(waited > 0.9 * seconds_late, "%s waited only %.3f s", names[which], waited);
    CHECK(used < 0.010 + 0.01 * waited,
          "waiting %.2f s in %s used %.1f ms of CPU, expected under %.1f ms", waited, names[which],
          1e3 * used, 1e3 * (0.010 + 0.01 * waited));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
