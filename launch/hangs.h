// SPDX-License-Identifier: Apache-2.0
//
// mpiexec's side of hang/: when to look at the job, what to say, whom gdb looks at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hang/symbols.h"
#include "hang/watch.h"
#include "plan.h"

namespace weft::launch {

class Hangs {
 public:
  /// `has_head`: this is an agent's worker, and mpiexec looks (far_hangs.h).
  Hangs(const Plan& plan, memory::Job& job, bool has_head);

  /// When to look next, of base/clock.h; 0: never.
  std::int64_t next_ns() const { return watch_.next_ns(); }
  /// The report of a hang that has just become sure, else empty.
  std::string look();
  /// What the job does now.
  std::string look_now();
  /// whom_to_debug() of the last hang.
  const std::vector<std::int32_t>& to_debug() const { return to_debug_; }

 private:
  memory::Job& job_;
  hang::Watch watch_;
  hang::Symbols symbols_;
  std::vector<std::int32_t> to_debug_;
};

/// A rank of each process that hangs, as many as somebody may want to read about.
std::vector<std::int32_t> whom_to_debug(const hang::Finding& finding);

}  // namespace weft::launch
