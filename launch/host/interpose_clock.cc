// SPDX-License-Identifier: Apache-2.0
//
// Processor time of the process: a rank's is that of its own threads and children.
#include <errno.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

clock_t ticks(const timeval& t) {
  static const long per_second = sysconf(_SC_CLK_TCK);
  return t.tv_sec * per_second + t.tv_usec * per_second / 1000000;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

clock_t clock() noexcept {
  static constinit Next<clock_t()> real{"clock"};
  Rank* rank = current();
  if (!rank || !in_host_process()) return real();
  const timespec t = rank->members.cpu_time();
  return t.tv_sec * CLOCKS_PER_SEC + t.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

int getrusage(__rusage_who_t who, struct rusage* out) noexcept {
  static constinit Next<int(__rusage_who_t, struct rusage*)> real{"getrusage"};
  Rank* rank = current();
  const int result = real(who, out);
  if (result != 0 || !rank || !in_host_process()) return result;
  if (who == RUSAGE_CHILDREN) *out = rank->children_usage;
  if (who != RUSAGE_SELF) return 0;
  const long memory = out->ru_maxrss;  // is common
  *out = rank->members.usage();
  out->ru_maxrss = memory;
  return 0;
}

clock_t times(struct tms* out) noexcept {
  static constinit Next<clock_t(struct tms*)> real{"times"};
  Rank* rank = current();
  const clock_t now = real(out);
  if (!out || !rank || !in_host_process()) return now;
  const struct rusage used = rank->members.usage();
  *out = {ticks(used.ru_utime), ticks(used.ru_stime), ticks(rank->children_usage.ru_utime),
          ticks(rank->children_usage.ru_stime)};
  return now;
}

#pragma GCC visibility pop
}
