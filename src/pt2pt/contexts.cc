// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/contexts.h"

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

std::uint32_t name_of(const Engine& e) {
  return static_cast<std::uint32_t>(e.context) + 1;
}

bool wants_progress(const Engine& e) {
  return e.needs_progress.load(std::memory_order_seq_cst) || e.inbox.is_knocked();
}

/// Might there be news from other nodes for which no thread waits here?
bool is_unattended(const Engine& e) {
  return e.network != nullptr && !e.attended.load(std::memory_order_seq_cst);
}

/// Is a visitor to pass by, as one of the context's own threads has been there since the last
/// visit? What such a thread sends in a row is to travel together, and leaves when it waits, or at
/// a visit.
bool is_in_use(Engine& e) {
  if (e.network == nullptr || e.inbox.is_knocked()) return false;
  // relaxed, all: hints
  const bool passes = e.in_use.exchange(false, std::memory_order_relaxed) &&
                      e.passed_by.fetch_add(1, std::memory_order_relaxed) < most_passes;
  if (!passes) e.passed_by.store(0, std::memory_order_relaxed);
  return passes;
}

/// Nor is anybody told.
bool is_unwatched(const Engine& e) {
  return is_unattended(e) && !e.network->is_watched();
}

/// Have the watcher wake who is named in the context's word. False: there may be news still.
bool watch(Engine& e) {
  for (int i = 0; i < looks_before_watch; ++i) {
    if (arm(e)) return true;
    progress_of_network(e);
  }
  return false;
}

/// Name a server that sleeps in the context's word, if nobody is named. False: none sleeps.
bool name_sleeper(Engine& e) {
  Contexts& all = *e.contexts;
  sync::ParkWord& word = e.inbox.parked();
  const auto sleeps = [&e](Engine* other) {
    return other != &e && other->inbox.parked().load(std::memory_order_seq_cst) == name_of(*other);
  };
  while (all.asleep.load(std::memory_order_seq_cst) > 0) {
    const auto found = std::find_if(all.engines.begin(), all.engines.end(), sleeps);
    if (found == all.engines.end()) return false;
    std::uint32_t named = 0;
    if (!word.compare_exchange_strong(named, name_of(**found), std::memory_order_seq_cst))
      return true;
    if (sleeps(*found)) return true;
    // It woke meanwhile, and may have taken its name out of all words before.
    named = name_of(**found);
    word.compare_exchange_strong(named, 0, std::memory_order_seq_cst);
  }
  return false;
}

/// Nobody attends the context from here on: whoever sleeps is to be woken for what comes. With the
/// lock.
void hand_over(Engine& e) {
  const bool named = e.inbox.parked().load(std::memory_order_seq_cst) != 0;
  if (named && !e.unwatched) return;
  if (e.contexts->asleep.load(std::memory_order_seq_cst) == 0) return;
  // What needs progress is adopted by servers alone, which look at its mailbox after that.
  const bool needs = e.needs_progress.load(std::memory_order_relaxed);
  if (needs && !named) return;
  e.unwatched = false;
  watch(e);
  if ((needs || name_sleeper(e)) && !e.network->is_watched()) e.inbox.wake();
}

/// With the lock.
void say_what_it_needs(Engine& e) {
  // relaxed: written under the lock
  const bool before = e.needs_progress.load(std::memory_order_relaxed);
  const bool alone = e.waiters.waiting == 0;
  // What it has sent to other nodes has mostly left by now, and it takes a look to see that.
  if (e.contexts->several() && alone && !before && !has_begun_here(e) && has_begun(e))
    progress_of_network(e, true);
  const bool needs = alone && has_begun(e);
  if (needs != before) set_needs_progress(e, needs);
}

/// A server of `e` that is named in this context's word is about to sleep. False: there may be news
/// still. With the lock.
bool watch_adopted(Engine& e, Engine& other) {
  if (!watch(other)) return false;
  if (other.network == nullptr) return true;
  std::uint32_t nobody = 0;  // if a look there has taken the name away (take_from_others)
  other.inbox.parked().compare_exchange_strong(nobody, name_of(e), std::memory_order_seq_cst);
  return other.network->is_watched() || other.network->nap_ns() > 0;
}

/// Wake one server that sleeps, if there is any.
void wake_a_server(Contexts& all) {
  if (all.asleep.load(std::memory_order_seq_cst) == 0) return;
  for (Engine* e : all.engines) {
    std::uint32_t itself = name_of(*e);
    sync::ParkWord& word = e->inbox.parked();
    if (!word.compare_exchange_strong(itself, 0, std::memory_order_seq_cst)) continue;
    return sync::wake_all(word);
  }
}

}  // namespace

Engine& engine_of_tag(const Comm& comm, int tag) {
  const std::vector<Engine*>& engines = comm.engine->contexts->engines;
  const auto n = static_cast<std::uint32_t>(engines.size());  // a power of two
  if (n == 1) return *engines[0];
  // Neighbouring tags, and those a power of two apart, are to differ.
  std::uint32_t sum = static_cast<std::uint32_t>(comm.engine->context);
  const int bits = std::countr_zero(n);
  for (auto rest = static_cast<std::uint32_t>(tag); rest != 0; rest >>= bits) sum += rest;
  return *engines[sum & (n - 1)];
}

void set_needs_progress(Engine& e, bool needs) {
  Contexts& all = *e.contexts;
  if (!all.several() && all.background == nullptr) return;
  e.needs_progress.store(needs, std::memory_order_seq_cst);
  if (!needs) return;
  wake_a_server(all);
  // Where the entry point looks as it ends, only then: till then it holds no lock.
  const bool at_end =
      all.engines[0]->framed.load(std::memory_order_relaxed) == Engine::Framed::at_end;
  const Contexts::Rests rests = all.background_rests.load(std::memory_order_seq_cst);
  if (!at_end && rests != Contexts::Rests::no && rests != Contexts::Rests::watches)
    wake_background(e);
}

void say_what_has_begun(Contexts& all) {
  if (!all.sole.is_mine()) return;  // it is over: each context says so (leave_context)
  // relaxed: both are this thread's business; it may be told once too often
  if (all.background_rests.load(std::memory_order_relaxed) == Contexts::Rests::watches &&
      !all.delegated.load(std::memory_order_relaxed))
    return;
  for (Engine* e : all.engines) {
    // Where it rests at the mailbox, news wake it. relaxed: who unnames it there is this thread
    const bool news_wake_it =
        all.background_rests.load(std::memory_order_relaxed) == Contexts::Rests::until_news &&
        e->inbox.parked().load(std::memory_order_relaxed) != 0;
    if (has_begun(*e) && (!news_wake_it || must_look(*e))) return wake_background(*e);
  }
}

void wake_background(Engine& e) {
  Contexts& all = *e.contexts;
  const Contexts::Rests rests =
      all.background_rests.exchange(Contexts::Rests::no, std::memory_order_seq_cst);
  if (rests == Contexts::Rests::no) return;  // another thread does
  all.engines[0]->framed.store(Engine::Framed::yes, std::memory_order_relaxed);
  ++e.counters->background_wakes;
  const std::int64_t start = now_ns();
  all.background->wake();
  sync::ParkWord& parked = all.engines[0]->inbox.parked();
  if (rests == Contexts::Rests::until_news) parked.store(0, std::memory_order_seq_cst);
  sync::wake_all(parked);
  const float ns = std::min(static_cast<float>(now_ns() - start), tell_ns_max);
  const float before = all.tell_ns.load(std::memory_order_relaxed);
  all.tell_ns.store(before + newest_tell * (ns - before), std::memory_order_relaxed);
}

void leave_networked(Engine& e) {
  say_what_it_needs(e);
  // relaxed: a hint
  if (!e.in_use.load(std::memory_order_relaxed)) e.in_use.store(true, std::memory_order_relaxed);
  if (e.contexts->several() && e.waiters.waiting == 0) hand_over(e);
}

void wake_for_network(Engine& e) {
  // seq_cst: after it is watched no longer; pairs with hand_over()
  if (e.inbox.parked().load(std::memory_order_seq_cst) != 0) e.inbox.wake();
}

void take_from_others(Engine& e) {
  if (!e.contexts->several()) return;
  e.unwatched = true;
  // relaxed, both: written under the lock; who names itself later looks
  if (e.needs_progress.load(std::memory_order_relaxed)) return;
  sync::ParkWord& word = e.inbox.parked();
  std::uint32_t named = word.load(std::memory_order_relaxed);
  if (named != 0 && named != name_of(e))
    word.compare_exchange_strong(named, 0, std::memory_order_seq_cst);
}

void leave_contexts(Contexts& all) {
  for (Engine* e : all.engines) leave_context(*e);
}

bool look_after_others(Engine& e, Others when, std::int64_t* sleep_ns) {
  bool goes_on = false;
  const bool all = when != Others::now_and_then;
  for (Engine* other : e.contexts->engines) {
    if (other == &e || !(wants_progress(*other) || (all && is_unwatched(*other)))) continue;
    if (!all && is_in_use(*other)) continue;
    if (all) {
      other->lock.hold_low();
    } else if (!other->lock.try_hold()) {
      continue;  // whoever has it is at work there
    }
    other->inbox.hear_knock();
    progress(*other);
    look_for_deaths(*other, {});
    goes_on |= must_look(*other) || other->inbox.poll() != nullptr;
    say_what_it_needs(*other);
    if (when == Others::before_sleep) {
      goes_on |= !watch_adopted(e, *other);
      *sleep_ns = nap_ns(*other, *sleep_ns);
    }
    if (when == Others::after_sleep) watch(*other);
    other->lock.release();
  }
  return goes_on;
}

bool begin_sleep(Engine& e) {
  Contexts& all = *e.contexts;
  const std::uint32_t before = e.inbox.parked().exchange(name_of(e), std::memory_order_seq_cst);
  if (!all.several()) return before == 0;
  all.asleep.fetch_add(1, std::memory_order_seq_cst);
  for (Engine* other : all.engines) {
    if (other == &e || !(is_unattended(*other) || wants_progress(*other))) continue;
    std::uint32_t nobody = 0;
    other->inbox.parked().compare_exchange_strong(nobody, name_of(e), std::memory_order_seq_cst);
  }
  return before == 0;
}

void end_sleep(Engine& e, bool others_sleep) {
  Contexts& all = *e.contexts;
  std::uint32_t itself = name_of(e);
  if (!others_sleep) e.inbox.parked().compare_exchange_strong(itself, 0, std::memory_order_seq_cst);
  if (!all.several()) return;
  for (Engine* other : all.engines) {
    if (other == &e) continue;
    std::uint32_t me = name_of(e);
    other->inbox.parked().compare_exchange_strong(me, 0, std::memory_order_seq_cst);
  }
  all.asleep.fetch_sub(1, std::memory_order_seq_cst);
}

void begin_waiting(Engine& e) {
  e.needs_progress.store(false, std::memory_order_relaxed);
  // relaxed: who overlooks it looks here in vain
  e.attended.store(true, std::memory_order_relaxed);
  if (e.network != nullptr) [[unlikely]]
    take_from_others(e);
}

void hand_on(Contexts& all, const Engine* but) {
  if (!all.several() || all.asleep.load(std::memory_order_seq_cst) == 0) return;
  for (Engine* e : all.engines) {
    // relaxed: who named itself there is asleep or about to leave in turn
    if (e == but || e->inbox.parked().load(std::memory_order_relaxed) != 0) continue;
    if (wants_progress(*e)) return wake_a_server(all);
    if (is_unattended(*e) && name_sleeper(*e) && is_unwatched(*e)) e->inbox.wake();
  }
}

void leave_waiting(Engine& e) {
  Contexts& all = *e.contexts;
  // seq_cst: before a look at `asleep` (hand_over)
  if (e.waiters.waiting == 0) e.attended.store(false, std::memory_order_seq_cst);
  if (all.background_rests.load(std::memory_order_seq_cst) != Contexts::Rests::no)
    for (Engine* other : all.engines)
      if (other != &e && wants_progress(*other)) wake_background(e);
  hand_on(all, &e);  // what is left here is said later (leave_context)
}

}  // namespace weft::pt2pt
