// SPDX-License-Identifier: Apache-2.0
#include "progress/charge.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/trace.h"
#include "pt2pt/engine.h"

namespace weft::progress {

using pt2pt::Engine;
using Visit = sync::SoleLock::Visit;

void Charge::begin(const Nature& nature, Worker& worker, sync::Thread& thread) {
  worker_ = &worker;
  nature_ = nature;
  sleep_ = again();
  shown_ = &hang::board(*all_.engines[0]->job, all_.engines[0]->world_rank).helper;
  found_away(nature.is_apart);
  all_.background = &thread;
}

void Charge::ask_to_end() {
  // Whoever is named at the mailbox is so by now, or finds that it is to end.
  Engine& e = *all_.engines[0];
  const sync::Guard guard(e.lock);
  ending_.store(true, std::memory_order_release);  // pairs with is_to_end()
  e.inbox.parked().store(0, std::memory_order_relaxed);
  sync::wake_all(e.inbox.parked());
}

void Charge::end() {
  if (at_ == At::mailbox) leave_mailbox();
  all_.engines[0]->framed.store(Engine::Framed::yes, std::memory_order_relaxed);
  all_.background = nullptr;
  worker_ = nullptr;
  say(Rests::no);
  say(hang::Helper::none);
}

Charge::Sleep Charge::turn() {
  if (still_sleeps()) return sleep_;
  switch (std::exchange(at_, At::door)) {
    case At::told:
      wake();
      return watch(true);  // who begins something may go on calling
    case At::watches:
      return after_watch();
    case At::until_back:
      return after_back();
    case At::away:
      return watch(wake());
    case At::aside:
      wake();
      pause_longer();
      return watch(false);
    case At::mailbox:
      leave_mailbox();
      break;
    case At::no_lock:
      wake();
      pause_ns_ = first_pause_ns;
      break;
    case At::door:
      break;
  }
  return go_in();
}

bool Charge::still_sleeps() const {
  if (sleep_.until_ns == Sleep::not_at_all || is_to_end()) return false;
  // relaxed: whoever changes it calls the thread afterwards; and so for the mailbox
  if (all_.background_rests.load(std::memory_order_relaxed) != rests_) return false;
  if (sleep_.news != nullptr && sleep_.news->load(std::memory_order_relaxed) != Sleep::named)
    return false;
  return sleep_.until_ns == 0 || now_ns() < sleep_.until_ns;
}

/// For so long, 0: until it is told. It says why from here on.
Charge::Sleep Charge::sleep(At at, Rests rests, std::int64_t for_ns) {
  say(rests);
  at_ = at;
  sleep_ = {.until_ns = for_ns == 0 ? 0 : now_ns() + for_ns};
  return sleep_;
}

bool Charge::wake() {
  const bool told =
      all_.background_rests.exchange(Rests::no, std::memory_order_seq_cst) == Rests::no;
  rests_ = Rests::no;
  return told;
}

void Charge::say(Rests rests) {
  rests_ = rests;
  all_.background_rests.store(rests, std::memory_order_seq_cst);
}

void Charge::say(hang::Helper what) {
  // relaxed: for reports, whose readers look again
  if (shown_ != nullptr) shown_->store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
}

Charge::Sleep Charge::go_in() {
  sleep_ = again();
  switch (all_.sole.visit()) {
    case Visit::inside:
      return visit();
    case Visit::busy:
      return stay_out();
    case Visit::over:
      break;
  }
  return by_locks();
}

Charge::Sleep Charge::watch(bool told) {
  if (all_.delegated.exchange(false, std::memory_order_relaxed)) return sleep_ = again();
  told_ns_ = now_ns();
  told_ = told;
  taken_ = all_.sole.taken();
  say(hang::Helper::stays_out);
  return sleep(At::watches, Rests::watches, nature_.is_apart ? first_pause_ns : pause_ns_);
}

Charge::Sleep Charge::after_watch() {
  wake();
  if (all_.sole.taken() == taken_ && !all_.sole.is_taken()) return sleep_ = again();
  if (told_) found_away(false);
  return stay_out();
}

void Charge::found_away(bool long_enough) {
  in_vain_ = long_enough ? 0 : in_vain_ + 1;
  all_.background_gains.store(!is_lazy(), std::memory_order_relaxed);
}

void Charge::judge() {
  const double enough_ns = away_per_tell * all_.tell_ns.load(std::memory_order_relaxed);  // a guess
  found_away(static_cast<double>(now_ns() - told_ns_) > enough_ns);
}

void Charge::pause_longer() {
  pause_ns_ = std::min(2 * pause_ns_, longest_pause());
}

std::int64_t Charge::longest_pause() const {
  const bool has_windows = std::any_of(
      all_.engines.begin(), all_.engines.end(),
      [](const Engine* e) { return e->one_sided.windows.load(std::memory_order_relaxed) > 0; });
  return has_windows ? longest_pause_of_windows_ns : longest_pause_ns;
}

Charge::Sleep Charge::stay_out() {
  say(hang::Helper::stays_out);
  say(Rests::until_back);
  if (!all_.sole_sleeps.load(std::memory_order_seq_cst)) return after_back();
  at_ = At::until_back;
  return sleep_ = {};
}

Charge::Sleep Charge::after_back() {
  wake();
  if (!is_lazy()) return sleep(At::away, Rests::until_told, longest_pause());
  if (nature_.is_apart)
    return sleep(At::aside, Rests::watches, pause_ns_);  // to look is cheap there
  pause_longer();
  return watch(false);
}

bool Charge::step(Engine& e) {
  e.visited = true;
  const bool any = nature_.network_only ? pt2pt::progress_of_network(e) : pt2pt::progress(e);
  const bool some = any && !pt2pt::must_look(e);
  e.visited = false;
  e.counters->background_steps += some ? 1 : 0;
  return some;
}

bool Charge::look() {
  bool found = false;
  for (Engine* e : all_.engines)
    if (pt2pt::has_begun(*e)) found |= step(*e);
  return found;
}

bool Charge::has_begun() const {
  return std::any_of(all_.engines.begin(), all_.engines.end(),
                     [](const Engine* e) { return pt2pt::has_begun(*e); });
}

bool Charge::somebody_waits() const {
  return std::any_of(all_.engines.begin(), all_.engines.end(),
                     [](const Engine* e) { return e->waiters.waiting > 0; });
}

TraceSpan Charge::traced() const {
  Trace* const trace = all_.engines[0]->trace.get();
  if (trace != nullptr) trace->name_thread("weft-prog.");
  return {trace, "progress"};
}

Charge::Sleep Charge::visit() {
  if (somebody_waits()) return rest();
  if (!has_begun()) {
    if (!is_lazy() || pause_ns_ >= longest_pause()) return rest();
    all_.sole.leave_visit();
    return stay_out();
  }
  say(hang::Helper::works);
  const Engine& first = *all_.engines[0];
  const TraceSpan span = traced();
  ++first.counters->background_taken;
  std::int64_t found_ns = now_ns();
  sync::Backoff backoff(first.policy.siblings, first.policy.rest);
  while (!all_.sole.is_wanted() && !is_to_end()) {
    if (look()) {
      if (!has_begun()) return rest();
      found_ns = now_ns();
      pause_ns_ = first_pause_ns;
      backoff.reset();
      if (!nature_.has_others) continue;
      all_.sole.leave_visit();
      return again();
    }
    if (now_ns() - found_ns >= nature_.spin_ns) return rest_at_mailbox();
    backoff.step();
  }
  judge();
  if (!is_lazy()) return rest();
  all_.sole.leave_visit();
  return stay_out();
}

Charge::Sleep Charge::rest() {
  pt2pt::leave_contexts(all_);  // if another thread comes meanwhile, what they need is right
  say(hang::Helper::rests);
  const Sleep until_told = sleep(At::told, Rests::until_told, 0);
  Engine& first = *all_.engines[0];
  if (!first.among_threads)  // release: pairs with Entry
    first.framed.store(Engine::Framed::at_end, std::memory_order_release);
  all_.sole.leave_visit();
  return until_told;
}

Charge::Sleep Charge::rest_at_mailbox() {
  Engine& e = *all_.engines[0];
  sync::Waiter waiter(e.policy, e.neighbours);
  pt2pt::leave_contexts(all_);
  pt2pt::begin_sleep(e);
  waiter.barrier();
  const bool found = look();
  must_look_ = false;
  bool news = false;
  for (Engine* each : all_.engines) {
    must_look_ |= pt2pt::must_look(*each);
    news |= !pt2pt::arm(*each);
  }
  at_ = At::mailbox;
  if (found || news || is_to_end()) {
    must_look_ = false;
  } else {
    say(hang::Helper::awaits_news);
    std::int64_t limit_ns = must_look_ ? pause_ns_ : 0;
    for (const Engine* each : all_.engines) limit_ns = pt2pt::nap_ns(*each, limit_ns);
    sleep(At::mailbox, Rests::until_news, sync::guarded_ns(e.policy, limit_ns));
    sleep_.news = &e.inbox.parked();
  }
  all_.sole.leave_visit();
  return sleep_;
}

void Charge::leave_mailbox() {
  wake();
  if (must_look_) pause_longer();
  if (!all_.several()) return;
  Engine& e = *all_.engines[0];
  e.inbox.wake();  // it may be named there still, if the sleep ended by time
  pt2pt::end_sleep(e, true);
  pt2pt::hand_on(all_);
}

bool Charge::needs_somebody() const {
  return std::any_of(all_.engines.begin(), all_.engines.end(), [](const Engine* e) {
    return e->needs_progress.load(std::memory_order_seq_cst);
  });
}

Charge::Sleep Charge::by_locks() {
  if (!needs_somebody()) {
    say(hang::Helper::rests);
    const Sleep until_told = sleep(At::no_lock, Rests::until_told, 0);
    return needs_somebody() ? sleep_ = again() : until_told;
  }
  say(hang::Helper::works);
  bool found = false;
  for (Engine* e : all_.engines) {
    if (!e->needs_progress.load(std::memory_order_seq_cst) || !e->lock.try_hold()) continue;
    if (e->waiters.waiting == 0 && pt2pt::has_begun(*e)) {
      const TraceSpan span = traced();
      ++e->counters->background_taken;
      found |= step(*e);
    }
    pt2pt::leave_context(*e);
    e->lock.release();
  }
  if (found) {
    pause_ns_ = first_pause_ns;
    return again();
  }
  say(hang::Helper::awaits_news);
  const Sleep nap = sleep(At::door, Rests::no, pause_ns_);
  pause_longer();
  return nap;
}

}  // namespace weft::progress
