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
  to_debug_ = whom_to_debug(*f);
  return hang::hang_report(f->view, f->analysis, std::ref(symbols_));
}

std::string Hangs::look_now() {
  const hang::Finding f = hang::find_now(job_, asked_limit_ns);
  return hang::state_report(f.view, f.analysis, std::ref(symbols_));
}

std::vector<std::int32_t> whom_to_debug(const hang::Finding& finding) {
  std::vector<std::int32_t> out;
  const auto pid = [&](std::int32_t rank) { return finding.view.rank(rank).pid; };
  for (std::size_t i = 0; i < finding.view.ranks.size() && out.size() < debuggers_max; ++i) {
    const auto rank = static_cast<std::int32_t>(i);
    const auto is_of_it = [&](std::int32_t other) { return pid(other) == pid(rank); };
    if (finding.analysis.has_stuck_threads(i) && std::none_of(out.begin(), out.end(), is_of_it))
      out.push_back(rank);
  }
  return out;
}

}  // namespace weft::launch
