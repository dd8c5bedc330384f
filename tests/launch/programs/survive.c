// SPDX-License-Identifier: Apache-2.0
// Every rank sends itself signals that do not kill: ignored, blocked, handled, harmless.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static void handle(int signal) {
  handled += signal;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  signal(SIGUSR1, SIG_IGN);
  raise(SIGUSR1);
  kill(getpid(), SIGUSR1);
  raise(SIGCHLD);
  signal(SIGTERM, handle);
  raise(SIGTERM);
  kill(getpid(), SIGTERM);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR2);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return handled == 2 * SIGTERM ? 0 : 1;
}
