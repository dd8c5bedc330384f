// SPDX-License-Identifier: Apache-2.0
#include "progress/threads.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "parallel/jobs.h"
#include "progress/mode.h"
#include "pt2pt/engine.h"

namespace weft::progress {

bool is_wanted(const Params& params, const topo::SeatRecord& seat, const memory::JobHeader& job,
               int openmp_threads) {
  const Mode mode = mode_of(params);
  if (mode != Mode::automatic) return mode != Mode::off;
  if (seat.cores == 0) return job.cpus > job.sharing;
  return seat.network_only || (seat.idle && (!seat.own || openmp_threads < seat.cores));
}

Err Threads::start(Charge& charge, const Params& params, const pt2pt::Engine& first,
                   const topo::SeatRecord& seat, int place) {
  const bool alone = first.job->header().nodes > 1;
  const int most = alone ? 1 : most_ranks(params), number = place / most;
  const std::scoped_lock lock(mutex_);
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [number](const Group& known) { return known.number == number; });
  if (group == groups_.end()) {
    auto worker = std::make_unique<Worker>();
    WEFT_TRY(worker->start(first, seat, most > 1));
    group = groups_.insert(group, {number, std::move(worker)});
  }
  group->worker->take(charge);
  return ok;
}

void Threads::stop(Charge& charge) {
  Worker* const worker = charge.worker();
  if (worker == nullptr) return;
  charge.ask_to_end();
  const std::scoped_lock lock(mutex_);
  if (!worker->let_go(charge)) return;
  worker->end();
  std::erase_if(groups_, [worker](const Group& each) { return each.worker.get() == worker; });
}

Err Worker::start(const pt2pt::Engine& first, const topo::SeatRecord& seat, bool has_others) {
  const memory::JobHeader& job = first.job->header();
  const bool cpu_is_free = job.cpus > job.sharing;
  // Else it would take a computing rank's CPU, or copy beside one.
  const bool beside = seat.is == topo::SeatName::smt || seat.is == topo::SeatName::smt_sleep;
  helps_ = cpu_is_free && !beside;
  nature_.network_only = seat.network_only;
  nature_.has_others = has_others;
  nature_.is_apart =
      seat.cores > 0 ? seat.count > 0 && seat.is != topo::SeatName::same_core : helps_;
  // Whoever shares the core may be who is to bring news.
  const bool alone = seat.cores > 0 ? seat.idle : helps_;
  nature_.spin_ns = alone && !has_others ? first.policy.spin_ns : 0;
  char name[24];
  std::snprintf(name, sizeof name, "weft-prog.%d", first.world_rank);
  return thread_.start(
      {name, seat.list(), [](sync::Thread&, void* me) { static_cast<Worker*>(me)->run(); }, this});
}

void Worker::take(Charge& charge) {
  ++asking_;
  const std::scoped_lock lock(mutex_);
  --asking_;
  charge.begin(nature_, *this, thread_);
  charges_.push_back(&charge);
  thread_.wake();
}

bool Worker::let_go(Charge& charge) {
  ++asking_;
  const std::scoped_lock lock(mutex_);
  --asking_;
  std::erase(charges_, &charge);
  charge.end();
  return charges_.empty();
}

void Worker::run() {
  prctl(PR_SET_TIMERSLACK, timer_slack_ns);
  while (!thread_.is_to_end()) {
    thread_.attend();
    if (asking_ > 0) sync::yield();
    if (const std::int64_t until_ns = turns(); until_ns != Charge::Sleep::not_at_all)
      sleep(until_ns);
  }
}

std::int64_t Worker::turns() {
  const std::scoped_lock lock(mutex_);
  news_.clear();
  std::int64_t until_ns = 0;
  for (Charge* charge : charges_) {
    const Charge::Sleep sleep = charge->turn();
    if (until_ns == Charge::Sleep::not_at_all) continue;
    if (sleep.news != nullptr) news_.push_back(sleep.news);
    if (sleep.until_ns != 0 && (until_ns == 0 || sleep.until_ns < until_ns))
      until_ns = sleep.until_ns;
  }
  return until_ns;
}

/// Meanwhile, where a CPU is free, it helps with large copies and reductions of the process
/// (parallel/jobs.h), a chunk at a time.
void Worker::sleep(std::int64_t until_ns) {
  const std::int64_t limit_ns = until_ns == 0 ? 0 : std::max<std::int64_t>(until_ns - now_ns(), 1);
  if (!helps_) return static_cast<void>(thread_.sleep(limit_ns, nullptr, news_));
  parallel::Jobs& jobs = parallel::jobs();
  jobs.count_waiting(1);
  jobs.count_sleeping(1);
  thread_.sleep(limit_ns, &jobs, news_);
  jobs.count_sleeping(-1);
  jobs.count_waiting(-1);
  while (!thread_.is_called() && jobs.is_offered() && jobs.join()) {
  }
}

}  // namespace weft::progress
