// SPDX-License-Identifier: Apache-2.0
// Ranks have their process registered for membarrier; those that are threads of one find it so:
// done by several threads it takes an RCU grace period, the longest part of their start
// (sync/wait.h).
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"

static void is_registered(const char* when) {
  const int get_registrations = 1 << 9;  // since Linux 6.3
  const long registered = syscall(SYS_membarrier, get_registrations, 0, 0);
  const int known = registered >= 0 || errno != EINVAL;
  CHECK(!known || registered & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
        "membarrier has %#lx registered %s MPI_Init", (unsigned long)registered, when);
}

int main(int argc, char** argv) {
  const int is_thread = syscall(SYS_getpid) != syscall(SYS_gettid);
  if (is_thread) is_registered("before");
  start(&argc, &argv);
  is_registered("after");
  return finish();
}
