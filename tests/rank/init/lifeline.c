// SPDX-License-Identifier: Apache-2.0
// The descriptor that ends a rank with its launcher has a number below those of ranks' streams: a
// host of ranks takes no copy of what lies above, and closes it at once (launch/host/isolate.h).
#define _GNU_SOURCE
#include <fcntl.h>

#include "../check.h"

int main(int argc, char** argv) {
  int lifelines = 0, highest = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || !(flags & O_ASYNC)) continue;
    ++lifelines;
    highest = fd;
  }
  start(&argc, &argv);
  EQ(lifelines, 1);
  CHECK(highest < 3 * size, "it is %d, of %d ranks", highest, size);
  return finish();
}
