// SPDX-License-Identifier: Apache-2.0
#include "sync/locks.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "sync/biased_locks.h"
#include "sync/fifo_locks.h"
#include "sync/park_lock.h"

namespace weft::sync {

std::unique_ptr<Lock> make_lock(LockKind kind, const LockSettings& settings) {
  switch (kind) {
    case LockKind::ticket:
      return std::make_unique<TicketLock>(settings);
    case LockKind::clh:
      return std::make_unique<ClhLock>(settings);
    case LockKind::pclh:
      return std::make_unique<PClhLock>(settings);
    case LockKind::clhub:
      return std::make_unique<BiasedLock<Clh>>(settings);
    case LockKind::hclhub:
      return std::make_unique<BiasedLock<Cohort>>(settings);
    case LockKind::park:
      return std::make_unique<ParkLock>(settings);
    default:
      return std::make_unique<MutexLock>(settings);
  }
}

int current_domain() {
  unsigned cpu = 0, node = 0;
  if (getcpu(&cpu, &node) != 0) return 0;
  return static_cast<int>(node) % most_domains;
}

int domain_count() {
  // "0", "0-3" or "0,2-5": the last number counts.
  FILE* file = std::fopen("/sys/devices/system/node/possible", "re");
  if (file == nullptr) return 1;
  int number = 0, last = 0;
  while (std::fscanf(file, "%d%*[-,]", &number) == 1) last = number;
  std::fclose(file);
  return std::clamp(last + 1, 1, most_domains);
}

}  // namespace weft::sync
