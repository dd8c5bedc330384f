// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process find it registered for membarrier: done by several threads
// it takes an RCU grace period, the longest part of their start (sync/wait.h).
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"

int main(int argc, char** argv) {
  const int get_registrations = 1 << 9;  // since Linux 6.3
  const long registered = syscall(SYS_membarrier, get_registrations, 0, 0);
  const int known = registered >= 0 || errno != EINVAL;
  start(&argc, &argv);
  CHECK(!known || registered & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
        "membarrier has %#lx registered", (unsigned long)registered);
  return finish();
}
