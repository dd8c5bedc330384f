// SPDX-License-Identifier: Apache-2.0
#include "progress/background.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "parallel/jobs.h"
#include "pt2pt/engine.h"

namespace weft::progress {

using pt2pt::Engine;
using Rests = pt2pt::Contexts::Rests;
using Visit = sync::SoleLock::Visit;

namespace {

enum class Threads { off, rank, automatic };  // the words of the parameter

}  // namespace

bool is_wanted(const Params& params, const topo::SeatRecord& seat, const memory::JobHeader& job,
               int openmp_threads) {
  const auto threads = static_cast<Threads>(params.integer(P::progress_threads));
  if (threads != Threads::automatic) return threads == Threads::rank;
  if (seat.cores == 0) return job.cpus > job.sharing;
  return seat.network_only || (seat.idle && (!seat.own || openmp_threads < seat.cores));
}

Err Background::start(const topo::SeatRecord& seat) {
  char name[24];
  std::snprintf(name, sizeof name, "weft-prog.%d", all_.engines[0]->world_rank);
  pause_ns_ = first_pause_ns;
  all_.background = &thread_;
  const memory::JobHeader& job = all_.engines[0]->job->header();
  network_only_ = seat.network_only;
  // Else it would take a computing rank's CPU, or copy beside one.
  const bool beside = seat.is == topo::SeatName::smt || seat.is == topo::SeatName::smt_sleep;
  helps_ = job.cpus > job.sharing && !beside;
  is_apart_ = seat.cores > 0 ? seat.count > 0 && seat.is != topo::SeatName::same_core : helps_;
  found_away(is_apart_);
  // Whoever shares the core may be who is to bring news.
  const bool alone = seat.cores > 0 ? seat.idle : helps_;
  spin_ns_ = alone ? all_.engines[0]->policy.spin_ns : 0;
  const Err error =
      thread_.start({name, seat.list(),
                     [](sync::Thread&, void* me) { static_cast<Background*>(me)->run(); }, this});
  if (error) all_.background = nullptr;
  return error;
}

void Background::stop() {
  if (!thread_.is_running()) return;
  {
    // Whoever is named at the mailbox is so by now, or finds that it is to end.
    Engine& e = *all_.engines[0];
    const sync::Guard guard(e.lock);
    thread_.ask_to_end();
    e.inbox.parked().store(0, std::memory_order_relaxed);
    sync::wake_all(e.inbox.parked());
  }
  thread_.end();
  all_.engines[0]->framed.store(Engine::Framed::yes, std::memory_order_relaxed);
  all_.background = nullptr;
  all_.background_rests.store(Rests::no, std::memory_order_relaxed);
}

void Background::run() {
  prctl(PR_SET_TIMERSLACK, timer_slack_ns);
  while (!thread_.is_to_end()) {
    thread_.attend();
    switch (all_.sole.visit()) {
      case Visit::inside:
        visit();
        break;
      case Visit::busy:
        watch(stay_out());
        break;
      case Visit::over:
        by_locks();
    }
  }
}

/// For so long, or until it is called (0). Meanwhile, where a CPU is free, it helps with large
/// copies and reductions of the process (parallel/jobs.h), a chunk at a time.
void Background::sleep(std::int64_t limit_ns) {
  if (!helps_) return static_cast<void>(thread_.sleep(limit_ns));
  parallel::Jobs& jobs = parallel::jobs();
  jobs.count_waiting(1);
  jobs.count_sleeping(1);
  thread_.sleep(limit_ns, &jobs);
  jobs.count_sleeping(-1);
  jobs.count_waiting(-1);
  while (!thread_.is_called() && jobs.is_offered() && jobs.join()) {
  }
}

void Background::sleep_while(Rests rests) {
  // relaxed: whoever changes it calls the thread afterwards
  while (all_.background_rests.load(std::memory_order_relaxed) == rests && !thread_.is_to_end())
    sleep(0);
}

bool Background::doze(Rests rests, std::int64_t limit_ns) {
  thread_.attend();
  all_.background_rests.store(rests, std::memory_order_seq_cst);
  sleep(limit_ns);
  return all_.background_rests.exchange(Rests::no, std::memory_order_seq_cst) == Rests::no;
}

bool Background::rank_stays_away(std::int64_t ns) {
  const std::uint64_t before = all_.sole.taken();
  doze(Rests::watches, ns);
  return all_.sole.taken() == before && !all_.sole.is_taken();
}

void Background::watch(bool told) {
  while (!all_.delegated.exchange(false, std::memory_order_relaxed) && !thread_.is_to_end()) {
    told_ns_ = now_ns();
    if (rank_stays_away(is_apart_ ? first_pause_ns : pause_ns_)) return;
    if (told) found_away(false);
    told = stay_out();
  }
}

void Background::found_away(bool long_enough) {
  in_vain_ = long_enough ? 0 : in_vain_ + 1;
  all_.background_gains.store(!is_lazy(), std::memory_order_relaxed);
}

void Background::judge() {
  const double enough_ns = away_per_tell * all_.tell_ns.load(std::memory_order_relaxed);  // a guess
  found_away(static_cast<double>(now_ns() - told_ns_) > enough_ns);
}

bool Background::stay_out() {
  rest_until_back();
  if (!is_lazy()) return doze(Rests::until_told, longest_pause_ns);
  if (is_apart_) doze(Rests::watches, pause_ns_);  // to look is cheap there
  pause_ns_ = std::min(2 * pause_ns_, longest_pause_ns);
  return false;
}

void Background::rest_until_back() {
  all_.background_rests.store(Rests::until_back, std::memory_order_seq_cst);
  if (all_.sole_sleeps.load(std::memory_order_seq_cst)) sleep_while(Rests::until_back);
  all_.background_rests.store(Rests::no, std::memory_order_seq_cst);
}

bool Background::step(Engine& e) {
  e.visited = true;
  const bool any = network_only_ ? pt2pt::progress_of_network(e) : pt2pt::progress(e);
  const bool some = any && !pt2pt::must_look(e);
  e.visited = false;
  e.counters->background_steps += some ? 1 : 0;
  return some;
}

bool Background::look() {
  bool found = false;
  for (Engine* e : all_.engines)
    if (pt2pt::has_begun(*e)) found |= step(*e);
  return found;
}

bool Background::has_begun() const {
  return std::any_of(all_.engines.begin(), all_.engines.end(),
                     [](const Engine* e) { return pt2pt::has_begun(*e); });
}

bool Background::somebody_waits() const {
  return std::any_of(all_.engines.begin(), all_.engines.end(),
                     [](const Engine* e) { return e->waiters.waiting > 0; });
}

void Background::visit() {
  if (somebody_waits()) return rest();
  if (!has_begun()) {
    if (!is_lazy() || pause_ns_ == longest_pause_ns) return rest();
    all_.sole.leave_visit();
    return watch(stay_out());
  }
  const Engine& first = *all_.engines[0];
  ++first.counters->background_taken;
  std::int64_t found_ns = now_ns();
  sync::Backoff backoff(first.policy.siblings, first.policy.rest);
  while (!all_.sole.is_wanted() && !thread_.is_to_end()) {
    if (look()) {
      if (!has_begun()) return rest();
      found_ns = now_ns();
      pause_ns_ = first_pause_ns;
      backoff.reset();
    } else if (now_ns() - found_ns >= spin_ns_) {
      return rest_at_mailbox();
    } else {
      backoff.step();
    }
  }
  judge();
  if (!is_lazy()) return rest();
  all_.sole.leave_visit();
  watch(stay_out());
}

void Background::rest() {
  pt2pt::leave_contexts(all_);  // if another thread comes meanwhile, what they need is right
  all_.background_rests.store(Rests::until_told, std::memory_order_seq_cst);
  Engine& first = *all_.engines[0];
  if (!first.among_threads)  // release: pairs with Entry
    first.framed.store(Engine::Framed::at_end, std::memory_order_release);
  all_.sole.leave_visit();
  sleep_while(Rests::until_told);
  all_.background_rests.store(Rests::no, std::memory_order_seq_cst);
  watch(true);  // who begins something may go on calling
}

void Background::rest_at_mailbox() {
  Engine& e = *all_.engines[0];
  sync::Waiter waiter(e.policy);
  pt2pt::leave_contexts(all_);
  pt2pt::begin_sleep(e);
  waiter.barrier();
  const bool found = look();
  bool must_look = false;
  bool news = false;
  for (Engine* each : all_.engines) {
    must_look |= pt2pt::must_look(*each);
    news |= !pt2pt::arm(*each);
  }
  if (found || news || thread_.is_to_end()) {
    all_.sole.leave_visit();
  } else {
    all_.background_rests.store(Rests::until_news, std::memory_order_seq_cst);
    all_.sole.leave_visit();
    waiter.sleep(e.inbox.parked(), pt2pt::nap_ns(e, must_look ? pause_ns_ : 0), 1);
    while (helps_ && waiter.help()) {
    }
    all_.background_rests.store(Rests::no, std::memory_order_seq_cst);
    if (must_look) pause_ns_ = std::min(2 * pause_ns_, longest_pause_ns);
  }
  if (all_.several()) all_.asleep.fetch_sub(1, std::memory_order_seq_cst);
}

bool Background::needs_somebody() const {
  return std::any_of(all_.engines.begin(), all_.engines.end(), [](const Engine* e) {
    return e->needs_progress.load(std::memory_order_seq_cst);
  });
}

void Background::by_locks() {
  if (!needs_somebody()) {
    all_.background_rests.store(Rests::until_told, std::memory_order_seq_cst);
    if (!needs_somebody()) sleep_while(Rests::until_told);
    all_.background_rests.store(Rests::no, std::memory_order_seq_cst);
    pause_ns_ = first_pause_ns;
    return;
  }
  bool found = false;
  for (Engine* e : all_.engines) {
    if (!e->needs_progress.load(std::memory_order_seq_cst) || !e->lock.try_hold()) continue;
    if (e->waiters.waiting == 0 && pt2pt::has_begun(*e)) {
      ++e->counters->background_taken;
      found |= step(*e);
    }
    pt2pt::leave_context(*e);
    e->lock.release();
  }
  if (found) {
    pause_ns_ = first_pause_ns;
  } else {
    sleep(pause_ns_);
    pause_ns_ = std::min(2 * pause_ns_, longest_pause_ns);
  }
}

}  // namespace weft::progress
