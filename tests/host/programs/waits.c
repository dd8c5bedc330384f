// SPDX-License-Identifier: Apache-2.0
// Waits for a signal that is sent to the process: every rank's handler gets it.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

static volatile sig_atomic_t got;
static void handler(int s) {
  got = s;
}

int main(int argc, char** argv) {
  const int handle = argc > 1 && strcmp(argv[1], "handle") == 0;
  if (handle) signal(SIGUSR2, handler);
  t_barrier();
  if (t_rank() == 0) {
    puts("ready");
    fflush(stdout);
  }
  for (int i = 0; i < 500 && !got; i++) usleep(10000);
  return t_report("waits", got == SIGUSR2);
}
