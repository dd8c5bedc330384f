// SPDX-License-Identifier: Apache-2.0
//
// Looking, now and then, whether a job hangs (analysis.h), and making sure before it is said:
// everybody who seems to hang is woken and has to look after messages twice more, and in vain. So a
// rank that has a message but no CPU is not taken for one that waits, however busy the machine is.
//
// mpiexec looks for the jobs it started. Elsewhere each rank that waits looks, and one of them says
// what it finds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/params.h"
#include "memory/job.h"

namespace weft::hang {

/// Parameter sync.hang_seconds in ns.
inline std::int64_t limit_ns(const Params& params) {
  return params.integer(P::sync_hang_seconds) * 1'000'000'000;
}

class Watch {
 public:
  Watch(memory::Job& job, std::int64_t limit_ns) : job_(job), limit_ns_(limit_ns) {}

  /// A rank's look before it sleeps: says what it finds on stderr. Returns how long to sleep at
  /// most, in ns.
  std::int64_t look();

 private:
  memory::Job& job_;
  std::int64_t limit_ns_;
};

}  // namespace weft::hang
