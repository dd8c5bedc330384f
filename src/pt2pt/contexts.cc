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

/// The same where a thread is about to sleep, or leaves: a sender on another node cannot knock.
bool may_want_progress(const Engine& e) {
  return e.network != nullptr || wants_progress(e);
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

void leave_contexts(Contexts& all) {
  for (Engine* e : all.engines) leave_context(*e);
}

bool look_after_others(Engine& e, Others when) {
  bool goes_on = false;
  const bool all = when != Others::now_and_then;
  for (Engine* other : e.contexts->engines) {
    if (other == &e || !(all ? may_want_progress(*other) : wants_progress(*other))) continue;
    if (all) {
      other->lock.hold_low();
    } else if (!other->lock.try_hold()) {
      continue;  // whoever has it is at work there
    }
    other->inbox.hear_knock();
    progress(*other);
    look_for_deaths(*other, {});
    goes_on |= must_look(*other) || other->inbox.poll() != nullptr;
    if (when == Others::before_sleep) goes_on |= !arm(*other);
    leave_context(*other);
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
    if (other == &e || !may_want_progress(*other)) continue;
    std::uint32_t nobody = 0;
    other->inbox.parked().compare_exchange_strong(nobody, name_of(e), std::memory_order_seq_cst);
  }
  return before == 0;
}

void end_sleep(Engine& e) {
  Contexts& all = *e.contexts;
  if (!all.several()) return;
  for (Engine* other : all.engines) {
    if (other == &e) continue;
    std::uint32_t me = name_of(e);
    other->inbox.parked().compare_exchange_strong(me, 0, std::memory_order_seq_cst);
  }
  all.asleep.fetch_sub(1, std::memory_order_seq_cst);
}

void leave_waiting(Engine& e) {
  Contexts& all = *e.contexts;
  if (all.background_rests.load(std::memory_order_seq_cst) != Contexts::Rests::no)
    for (Engine* other : all.engines)
      if (other != &e && wants_progress(*other)) wake_background(e);
  if (!all.several() || all.asleep.load(std::memory_order_seq_cst) == 0) return;
  for (Engine* other : all.engines) {
    // What needs progress here is said later (leave_context); news from other nodes never are.
    const bool needs =
        other != &e ? may_want_progress(*other) : e.network != nullptr && e.waiters.servers == 0;
    // relaxed: who named itself there is asleep or about to leave in turn
    if (needs && other->inbox.parked().load(std::memory_order_relaxed) == 0)
      return wake_a_server(all);
  }
}

}  // namespace weft::pt2pt
