// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/waiting.h"

#include "pt2pt/engine.h"

namespace weft::pt2pt {
namespace {

template <class Body>
void for_each(const Awaited& awaited, Body&& body) {
  for (MPI_Request handle : awaited.handles)
    if (handle != MPI_REQUEST_NULL) body(*request_of(handle));
  for (Request* request : awaited.requests) body(*request);
}

/// From here on others have to tell this thread.
void name_thread(Waiting& me) {
  me.pending = 0;
  for_each(me.awaited, [&me](Request& request) {
    if (request.done) return;
    request.waiting = &me;
    ++me.pending;
  });
  if (me.awaited.one_is_enough) me.pending = 1;
}

void forget_thread(Waiting& me) {
  for_each(me.awaited, [&me](Request& request) {
    if (request.waiting == &me)
      request.waiting = nullptr;  // not the one that all eager sends share
  });
}

WaitingList& list_of(Engine& e, const Waiting& waiting) {
  return waiting.awaited.none() ? e.waiters.watchers : e.waiters.list;
}

void give_signal(Engine& e, Waiting& waiting) {
  --e.waiters.blocked;
  list_of(e, waiting).remove(&waiting);
  waiting.listed = false;
  if (waiting.signal.give()) ++e.counters->thread_wakes;
}

/// Signal the watchers for whom it is so. True if there was one.
bool ask_watchers(Engine& e) {
  bool found = false;
  for (Waiting* watcher = e.waiters.watchers.front(); watcher != nullptr;) {
    Waiting* next = WaitingList::next(watcher);
    if (watcher->done()) {
      ++e.counters->signals;
      give_signal(e, *watcher);
      found = true;
    }
    watcher = next;
  }
  return found;
}

/// Are there more threads than CPUs? Those that wait are all that the library knows of.
bool crowded(const Engine& e) {
  // relaxed: a guess
  const int waiting = e.contexts->waiting.load(std::memory_order_relaxed);
  return e.policy.crowded || waiting > e.waiters.cpus || e.waiters.cpus < 2;
}

/// Sleep until news in the mailbox; not if there are any after announcing it.
void sleep_at_mailbox(Engine& e, Waiting& me, sync::Waiter& waiter) {
  sync::ParkWord& word = e.inbox.parked();
  name_thread(me);
  ++e.waiters.sleeping;
  ++e.waiters.blocked;
  begin_sleep(e);
  waiter.barrier();
  progress(e);
  const bool news = me.done() || ask_watchers(e) || e.inbox.poll() != nullptr;
  const std::int64_t limit_ns = news ? 0 : me.note.before_sleep(e, me.awaited);
  if (news || !e.busy.empty()) {
    // Without reactivation another thread may still rely on the word.
    if (e.waiters.sleeping == 1) waiter.retract(word);
    end_sleep(e);
  } else {
    const TraceSpan span(e.trace.get(), "sleep");
    const auto left = e.lock.let_go();
    const bool several = e.contexts->several();
    if (several && look_after_others(e, true)) {
      sync::yield();
    } else {
      waiter.sleep(word, limit_ns, static_cast<std::uint32_t>(e.context) + 1);
    }
    end_sleep(e);
    if (several) look_after_others(e, true);
    e.lock.take_back_low(left);
  }
  --e.waiters.sleeping;
  --e.waiters.blocked;
  forget_thread(me);
}

/// Look after messages until me.done().
void serve(Engine& e, Waiting& me) {
  sync::Waiter waiter(e.policy);
  const bool several = e.contexts->several();
  constexpr std::uint32_t looks_per_care = 8;
  std::uint32_t looks = 0;
  while (!me.done()) {
    const bool hurry = crowded(e);
    const auto left = e.lock.let_go();
    const auto next = waiter.step(hurry);
    if (several && ++looks % looks_per_care == 0) look_after_others(e, false);
    e.lock.take_back_low(left);
    const bool news = e.inbox.poll() != nullptr;
    progress(e);
    const bool found = ask_watchers(e);
    if (me.done()) break;
    if (!news && !found) ++e.counters->lock_in_vain;
    if (next == sync::Waiter::Next::may_park) sleep_at_mailbox(e, me, waiter);
  }
  e.counters->yields += waiter.yields();
  e.counters->parks += waiter.parks();
}

/// Wait until somebody else has completed what `me` is about, or wants `me` to be the server.
void wait_for_signal(Engine& e, Waiting& me) {
  me.signal.reset();
  me.listed = true;
  list_of(e, me).push_back(&me);
  ++e.waiters.blocked;
  name_thread(me);
  sync::Waiter waiter(e.policy);
  std::uint64_t sleeps = 0;
  const bool hurry = crowded(e);
  const bool deputy = hurry && !e.waiters.deputy;
  if (deputy) e.waiters.deputy = true;
  bool sleep = hurry && !deputy;
  std::int64_t limit_ns = me.note.before_sleep(e, me.awaited, false);
  auto left = e.lock.let_go();
  while (!me.signal.is_given()) {
    if (!sleep) {
      sleep = waiter.step(hurry) == sync::Waiter::Next::may_park;
    } else if (++sleeps; me.signal.sleep(limit_ns) == sync::Signal::Woken::by_time) {
      e.lock.take_back_low(left);
      limit_ns = me.note.before_sleep(e, me.awaited, false);
      left = e.lock.let_go();
    }
  }
  e.lock.take_back(left);
  if (deputy) e.waiters.deputy = false;
  forget_thread(me);
  e.counters->yields += waiter.yields();
  e.counters->parks += sleeps;
}

/// The server leaves: the next one is whoever waits longest.
void name_server(Engine& e) {
  Waiters& w = e.waiters;
  w.server = !w.list.empty() ? w.list.front() : w.watchers.front();
  if (w.server == nullptr) return;
  ++e.counters->servers;
  give_signal(e, *w.server);
}

}  // namespace

void wait_among_threads(Engine& e, Waiting& me) {
  Waiters& w = e.waiters;
  ++w.waiting;
  // relaxed: a count that decides nothing but how fast this goes
  e.contexts->waiting.fetch_add(1, std::memory_order_relaxed);
  e.needs_care.store(false, std::memory_order_relaxed);
  while (w.reactivate && w.server != nullptr && !me.done()) {
    wait_for_signal(e, me);
    if (w.server == &me) break;
    if (!me.done()) ++e.counters->signals_in_vain;
  }
  if (w.server == nullptr && w.reactivate) w.server = &me;
  serve(e, me);
  --w.waiting;
  e.contexts->waiting.fetch_sub(1, std::memory_order_relaxed);
  if (w.server == &me) name_server(e);
  leave_waiting(e);
}

void tell_waiters(Engine& e, Waiting* waiting) {
  Waiters& w = e.waiters;
  if (waiting != nullptr && waiting->bell != nullptr) {
    // The bell is there: its thread takes it away under this context's lock. release: pairs with
    // Bell's question, which the server of its home asks
    waiting->bell->rung.store(true, std::memory_order_release);
    waiting->bell->home->inbox.wake();
    waiting = nullptr;
  }
  const bool complete = waiting != nullptr && waiting->pending > 0 && --waiting->pending == 0;
  if (complete && waiting->listed) {
    ++e.counters->signals;
    give_signal(e, *waiting);
  }
  if (w.sleeping == 0) return;
  const bool for_server = !w.reactivate || (complete && waiting == w.server) ||
                          !w.watchers.empty() || (w.server != nullptr && w.server->awaited.none());
  if (for_server) e.inbox.wake();
}

}  // namespace weft::pt2pt
