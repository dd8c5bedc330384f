// SPDX-License-Identifier: Apache-2.0
//
// A failed assertion says where and stops the process with SIGABRT, which the launcher reports.
#include "base/assert.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/limits.h"

namespace weft {

void assertion_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "weft: internal error at %s:%d: %s does not hold; please report this\n",
               file, line, what);
  std::abort();
}

void out_of_memory(const char* what, std::size_t bytes) {
  std::fprintf(
      stderr,
      "weft: out of memory: no %zu bytes for %s: %s%s; give the job more memory, or let it "
      "have fewer messages under way\n",
      bytes, what, std::strerror(errno), limit_behind(errno).c_str());
  syscall(SYS_exit_group, 1);
  std::abort();
}

}  // namespace weft
