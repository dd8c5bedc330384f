// SPDX-License-Identifier: Apache-2.0
//
// A failed assertion says where and stops the process with SIGABRT, which the launcher reports.
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace weft {

void assertion_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "weft: internal error at %s:%d: %s does not hold; please report this\n",
               file, line, what);
  std::abort();
}

}  // namespace weft
