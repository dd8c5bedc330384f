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
  /// A command for each process of the last hang that shows where all its threads are.
  std::vector<std::string> debugger_commands() const;

 private:
  memory::Job& job_;
  hang::Watch watch_;
  hang::Symbols symbols_;
  std::vector<std::int32_t> pids_;  // of the ranks that hang
};

}  // namespace weft::launch
