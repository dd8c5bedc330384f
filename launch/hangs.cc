// SPDX-License-Identifier: Apache-2.0
#include "hangs.h"

#include <algorithm>

#include "base/clock.h"
#include "hang/report.h"

namespace weft::launch {
namespace {

constexpr const char* limit_name = "WEFT_SYNC_HANG_SECONDS";
// A hang that the user asks about need not be old.
constexpr std::int64_t asked_limit_ns = 500'000'000;
constexpr std::size_t debuggers_max = 8;

/// The limit as the ranks have it: -x and -genv set it for them only.
std::int64_t limit_of(const Plan& plan) {
  if (plan.processes.empty()) return 0;  // its ranks look themselves
  std::int64_t seconds = 0;
  const char* given = plan.processes.at(0).env.get(limit_name);
  if (given != nullptr && parse_integer(given, &seconds) && seconds >= 0)
    return seconds * 1'000'000'000;
  return hang::limit_ns(Params::from_env(false));
}

std::vector<std::string> programs_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const Process& process : plan.processes) out.push_back(process.program);
  return out;
}

}  // namespace

Hangs::Hangs(const Plan& plan, memory::Job& job, bool has_head)
    : job_(job), watch_(job, has_head ? 0 : limit_of(plan)), symbols_(programs_of(plan), true) {
  if (!plan.processes.empty()) job.header().watched = 1;
}

std::string Hangs::look() {
  const std::optional<hang::Finding> f = watch_.look(now_ns());
  if (!f) return "";
  pids_.clear();
  for (std::size_t r = 0; r < f->view.ranks.size(); ++r) {
    const std::int32_t pid = f->view.ranks[r].pid;
    if (f->analysis.has_stuck_threads(r) &&
        std::find(pids_.begin(), pids_.end(), pid) == pids_.end())
      pids_.push_back(pid);
  }
  return hang::hang_report(f->view, f->analysis, std::ref(symbols_));
}

std::string Hangs::look_now() {
  const hang::Finding f = hang::find_now(job_, asked_limit_ns);
  return hang::state_report(f.view, f.analysis, std::ref(symbols_));
}

std::vector<std::string> Hangs::debugger_commands() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(pids_.size(), debuggers_max); ++i)
    out.push_back(
        "pid=" + std::to_string(pids_[i]) +
        "; if command -v gdb >/dev/null; then echo \"weft: the threads of process $pid\"; "
        "exec gdb -p $pid -batch -nx -iex 'set debuginfod enabled off' "
        "-ex 'thread apply all backtrace'; "
        "else echo 'weft: --hang=gdb needs gdb, which is not on the PATH'; fi");
  return out;
}

}  // namespace weft::launch
