// SPDX-License-Identifier: Apache-2.0
#include "parallel/openmp/call.h"

#include <algorithm>

#include "parallel/jobs.h"
#include "parallel/limits.h"
#include "parallel/openmp/members.h"
#include "parallel/openmp/ompt.h"
#include "parallel/openmp/runtime.h"

namespace weft::parallel::openmp {
namespace {

constexpr std::uint32_t all_of_it = UINT32_MAX;

void token(void* jobs) {
  (*static_cast<Jobs**>(jobs))->help(all_of_it);
}

void post_tokens(const Runtime& runtime, Jobs& jobs, std::int64_t worth_ns) {
  constexpr long size = sizeof(Jobs*), align = alignof(Jobs*);
  constexpr unsigned untied = 1;
  const auto others = static_cast<std::int64_t>(runtime.get_num_threads()) - 1;
  const std::int64_t most = jobs.is_forced() ? others : worth_ns / worth_of_token_ns;
  Jobs* all = &jobs;  // copied into each task
  for (std::int64_t i = std::min(others, most); i > 0; --i)
    runtime.task(token, &all, nullptr, size, align, true, untied, nullptr, 0, nullptr);
}

/// Of a region of weft's own: thread 0 is the caller.
struct Region {
  const Runtime& runtime;
  Job& job;
  std::uint32_t mine = 0;

  static void run(void* arg) {
    auto& region = *static_cast<Region*>(arg);
    if (region.runtime.get_thread_num() == 0)
      region.mine = region.job.work();
    else
      region.job.help(all_of_it);
  }
};

/// Threads of a region for work of so much; 0: it is not worth one. More than there are CPUs would
/// wait for each other at the end.
int region_threads(const Runtime& runtime, std::int64_t worth_ns) {
  if (last_request < 0 || (worth_ns < worth_of_region_ns && !jobs().is_forced())) return 0;
  const int threads = last_request > 0 ? last_request : runtime.get_max_threads();
  return threads < 2 || threads > runtime.get_num_procs() ? 0 : threads;
}

std::uint32_t run_region(const Runtime& runtime, Job& job, std::int64_t worth_ns) {
  if (region_threads(runtime, worth_ns) == 0) return 0;
  Region region{runtime, job};
  runtime.parallel(Region::run, &region, static_cast<unsigned>(last_request), 0);
  return region.mine;
}

/// An explicit task in a league hangs on libomp 16, also without weft. Only the tool interface
/// tells of leagues.
bool takes_tokens(const Runtime& runtime) {
  const bool may_hang = !runtime.is_libgomp && (!is_told_by_tool() || has_league());
  return runtime.get_num_threads() > 1 && runtime.in_final() == 0 && !may_hang;
}

std::uint32_t call(Jobs& jobs, Job& job, std::int64_t worth_ns) {
  const Runtime* runtime = current();
  if (runtime == nullptr) return 0;
  watch();
  if (Member* me = Member::mine()) me->open_gates();
  if (runtime->get_level() == 0) return run_region(*runtime, job, worth_ns);
  if (takes_tokens(*runtime)) post_tokens(*runtime, jobs, worth_ns);
  return 0;
}

int idle_for(std::int64_t worth_ns) {
  const Runtime* runtime = is_any_known() ? current() : nullptr;
  if (runtime == nullptr) return 0;
  watch();
  if (runtime->get_level() == 0) return std::max(0, region_threads(*runtime, worth_ns) - 1);
  if (!takes_tokens(*runtime)) return 0;
  const Idle now = idle();  // also of other teams, which take no tokens of this one
  return std::min(now.guaranteed + now.temporary, runtime->get_num_threads() - 1);
}

}  // namespace

int cpus() {
  const Runtime* runtime = current();
  return runtime != nullptr ? runtime->get_num_procs() : 0;
}

int threads() {
  const Runtime* runtime = current();
  return runtime != nullptr ? runtime->get_max_threads() : 0;
}

void call_for_jobs() {
  current();  // so that is_any_known()
  jobs().set_call(call, idle_for);
}

}  // namespace weft::parallel::openmp
