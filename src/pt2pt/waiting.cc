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

// So many watchers are asked at each look, without being rung for.
constexpr int few_watchers = 2;

void join_list(Engine& e, Waiting& waiting) {
  ++e.waiters.blocked;
  list_of(e, waiting).push_back(&waiting);
  waiting.listed = true;
  if (waiting.awaited.none() && ++e.waiters.watching == few_watchers + 1) e.inbox.watch(true);
}

void leave_list(Engine& e, Waiting& waiting) {
  --e.waiters.blocked;
  list_of(e, waiting).remove(&waiting);
  waiting.listed = false;
  if (waiting.awaited.none() && e.waiters.watching-- == few_watchers + 1) e.inbox.watch(false);
  if (e.waiters.deputy == &waiting) e.waiters.deputy = nullptr;
}

void wake(Engine& e, Waiting& waiting) {
  leave_list(e, waiting);
  if (waiting.signal.give()) ++e.counters->thread_wakes;
}

void make_server(Engine& e, Waiting& waiting) {
  Waiters& w = e.waiters;
  waiting.serves = true;
  ++w.servers;
  if (waiting.awaited.none()) ++w.watching_servers;
  // relaxed: the deputy takes the lock before it believes it
  w.vacant.store(false, std::memory_order_relaxed);
}

/// A server has left: leave the role to the deputy, or name whoever waits longest. Nobody is
/// forgotten: the deputy is awake, and before it sleeps or leaves it is asked, or asks, whether
/// there is a server (follow_server, give_signal). tests/model/waiting.pml
void name_server(Engine& e) {
  Waiters& w = e.waiters;
  if (w.deputy != nullptr) return w.vacant.store(true, std::memory_order_relaxed);
  w.vacant.store(false, std::memory_order_relaxed);
  Waiting* next = !w.list.empty() ? w.list.front() : w.watchers.front();
  if (next == nullptr) return;
  make_server(e, *next);
  ++e.counters->servers;
  wake(e, *next);
}

void stop_serving(Engine& e, Waiting& waiting) {
  waiting.serves = false;
  --e.waiters.servers;
  if (waiting.awaited.none()) --e.waiters.watching_servers;
  name_server(e);
}

/// What a thread waits for is so.
void give_signal(Engine& e, Waiting& waiting) {
  ++e.counters->signals;
  wake(e, waiting);
  // Was it the deputy that was to follow the server?
  if (e.waiters.vacant.load(std::memory_order_relaxed)) name_server(e);
}

/// Signal the watchers for whom it is so. True if there was one.
bool ask_watchers(Engine& e) {
  bool found = false;
  for (Waiting* watcher = e.waiters.watchers.front(); watcher != nullptr;) {
    Waiting* next = WaitingList::next(watcher);
    if (watcher->done()) {
      give_signal(e, *watcher);
      found = true;
    }
    watcher = next;
  }
  return found;
}

/// The same after a look, if anything may have become so since they were last asked.
bool ask_watchers_rung_for(Engine& e) {
  constexpr std::uint32_t most_looks = 64;
  Waiters& w = e.waiters;
  const std::uint32_t rings = e.inbox.rings();
  const bool news = rings != w.rings || e.counters->unexpected != w.unexpected;
  if (w.watching > few_watchers && !news && ++w.looks < most_looks) return false;
  w.looks = 0;
  w.rings = rings;
  w.unexpected = e.counters->unexpected;
  return ask_watchers(e);
}

/// Not for short waits, which it would make longer. relaxed: a guess, as in crowded()
void count(Engine& e, Waiting& me) {
  if (me.counted) return;
  me.counted = true;
  e.contexts->waiting.fetch_add(1, std::memory_order_relaxed);
}

/// Are there more threads than CPUs? Those that wait are all that the library knows of.
bool crowded(const Engine& e, const Waiting& me) {
  const int others = e.contexts->waiting.load(std::memory_order_relaxed) - (me.counted ? 1 : 0);
  return e.policy.crowded || others >= e.waiters.cpus || e.waiters.cpus < 2;
}

/// Sleep until news in the mailbox; not if there are any after announcing it. Another server that
/// has announced its sleep may have been woken before it is in the kernel: to name oneself would
/// make it sleep after all. So who finds the word empty then wakes it once more.
/// tests/model/waiting.pml. True if it slept.
bool sleep_at_mailbox(Engine& e, Waiting& me, sync::Waiter& waiter) {
  sync::ParkWord& word = e.inbox.parked();
  name_thread(me);
  ++e.waiters.sleeping;
  ++e.waiters.blocked;
  const bool woke_another = begin_sleep(e) && e.waiters.sleeping > 1;
  if (woke_another) e.inbox.wake();
  waiter.barrier();
  look_for(e, me.awaited);
  look_for_deaths(e, me.awaited);
  const bool news = woke_another || me.done() || ask_watchers(e) || e.inbox.poll() != nullptr;
  const std::int64_t limit_ns = news ? 0 : me.note.before_sleep(e, me.awaited);
  bool slept = false;
  if (!news && !must_look(e) && arm(e)) {
    const TraceSpan span(e.trace.get(), "sleep");
    std::int64_t most_ns = nap_ns(e, limit_ns);
    const auto left = e.lock.let_go();
    if (e.contexts->several() && look_after_others(e, Others::before_sleep, &most_ns)) {
      sync::yield();
    } else {
      waiter.sleep(word, most_ns, static_cast<std::uint32_t>(e.context) + 1);
      slept = true;
    }
    e.lock.take_back_low(left);
  }
  // Without reactivation another thread may still rely on the word.
  end_sleep(e, e.waiters.sleeping > 1);
  --e.waiters.sleeping;
  --e.waiters.blocked;
  forget_thread(me);
  return slept;
}

using Spinning = sync::Waiter::Spinning;

/// Is there nothing to look for but messages?
bool awaits_only_messages(const Engine& e, const Waiting& me) {
  return !me.awaited.none() && e.waiters.watchers.empty() && e.busy.empty() && e.left.empty() &&
         e.pollers.empty();
}

/// A thread that looks after messages.
class Server {
 public:
  Server(Engine& e, Waiting& me) : e_(e), me_(me), waiter_(e.policy, e.neighbours) {}
  ~Server() {
    e_.counters->yields += waiter_.yields();
    e_.counters->parks += waiter_.parks();
    e_.counters->chunks_helped += waiter_.helped();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  void serve();

 private:
  sync::Waiter::Next step();
  void look_after_all();

  Engine& e_;
  Waiting& me_;
  sync::Waiter waiter_;
  std::uint32_t looks_ = 0;  // since it looked after other contexts
};

/// Pause, or yield the core, without the lock. Where only messages count, do so until there is one;
/// but not for long, because another thread may complete what this one waits for.
sync::Waiter::Next Server::step() {
  constexpr std::uint32_t most_glances = 16, looks_per_context = 8, news_per_context = 256;
  if (waiter_.is_yielding()) count(e_, me_);
  const Spinning spinning = crowded(e_, me_) ? Spinning::briefly : Spinning::long_;
  const std::uint32_t glances = awaits_only_messages(e_, me_) ? most_glances : 1;
  const shm::Glance glance = e_.inbox.glance();
  const auto left = e_.lock.let_go();
  auto next = waiter_.step(spinning);
  bool news = glance.has_news();
  std::uint32_t looks = 1;
  for (; looks < glances && !news && !waiter_.is_yielding(); ++looks) {
    next = waiter_.step(spinning);
    news = glance.has_news();
  }
  looks_ += looks;
  if (e_.contexts->several() && looks_ >= (news ? news_per_context : looks_per_context)) {
    looks_ = 0;
    look_after_others(e_, Others::now_and_then);
  }
  e_.lock.take_back_low(left);
  return next;
}

/// Look after messages until me.done().
void Server::serve() {
  if (me_.done()) return;
  for (;;) {
    const auto next = step();
    if (me_.done()) break;  // another rank has set a flag, or another thread has completed it
    const bool news = e_.inbox.poll() != nullptr;
    const std::uint64_t served = e_.counters->rma_served;
    look_for(e_, me_.awaited);
    const bool found = ask_watchers_rung_for(e_);
    if (me_.done()) break;
    if (e_.counters->rma_served != served) [[unlikely]] {
      waiter_.found();  // others work on this rank's memory
      continue;
    }
    if (!news && !found) ++e_.counters->lock_in_vain;
    if (next != sync::Waiter::Next::may_park) continue;
    if (sleep_at_mailbox(e_, me_, waiter_)) {
      // What woke it may be another rank's access to memory here, of which nothing else is seen.
      if (e_.network != nullptr) [[unlikely]]
        waiter_.found();
      look_after_all();
    }
    if (me_.done()) break;
  }
}

/// It was woken for its own context, which it may leave now, or for another one.
void Server::look_after_all() {
  if (!e_.contexts->several()) return;
  look_for(e_, me_.awaited);
  ask_watchers_rung_for(e_);
  if (me_.done()) return;
  const auto left = e_.lock.let_go();
  look_after_others(e_, Others::after_sleep);
  e_.lock.take_back_low(left);
}

/// The deputy takes the lock: there may be no server, or it is about to sleep itself. True if it is
/// the server now.
bool follow_server(Engine& e, Waiting& me, bool sleeps) {
  Waiters& w = e.waiters;
  if (w.deputy != &me) return false;  // signalled
  if (sleeps) w.deputy = nullptr;
  if (!w.wants_server()) return false;
  ++e.counters->servers;
  leave_list(e, me);
  make_server(e, me);
  return true;
}

/// Wait until somebody else has completed what `me` is about, or `me` is the server.
void wait_for_signal(Engine& e, Waiting& me) {
  me.signal.reset();
  join_list(e, me);
  name_thread(me);
  count(e, me);
  sync::Waiter waiter(e.policy, e.neighbours);
  std::uint64_t sleeps = 0;
  bool deputy = e.waiters.deputy == nullptr;
  if (deputy) e.waiters.deputy = &me;
  const bool hurry = crowded(e, me);
  const Spinning spinning = hurry ? Spinning::not_at_all : Spinning::long_;
  bool sleep = hurry && !deputy;
  std::int64_t limit_ns = me.note.before_sleep(e, me.awaited, false);
  auto left = e.lock.let_go();
  while (!me.signal.is_given()) {
    const bool tired = !sleep && waiter.step(spinning) == sync::Waiter::Next::may_park;
    if (deputy && (tired || e.waiters.vacant.load(std::memory_order_relaxed))) {
      e.lock.take_back_low(left);
      const bool follows = follow_server(e, me, tired);
      left = e.lock.let_go();
      if (follows) break;
      deputy = !tired;
    }
    if (sleep) {
      ++sleeps;
      if (me.signal.sleep(limit_ns, e.policy.spare) == sync::Signal::Woken::by_time) {
        e.lock.take_back_low(left);
        limit_ns = me.note.before_sleep(e, me.awaited, false);
        left = e.lock.let_go();
      }
      while (!me.signal.is_given() && waiter.help()) continue;
    }
    sleep |= tired;
  }
  e.lock.take_back(left);
  forget_thread(me);
  e.counters->yields += waiter.yields();
  e.counters->parks += sleeps;
  e.counters->chunks_helped += waiter.helped();
}

}  // namespace

void wait_among_threads(Engine& e, Waiting& me) {
  Waiters& w = e.waiters;
  say_what_others_need(e);
  ++w.waiting;
  begin_waiting(e);
  while (w.most_servers > 0 && !w.wants_server() && !me.done()) {
    wait_for_signal(e, me);
    if (me.serves) break;
    if (!me.done()) ++e.counters->signals_in_vain;
  }
  if (!me.serves && w.wants_server()) make_server(e, me);
  Server(e, me).serve();
  --w.waiting;
  if (me.counted) e.contexts->waiting.fetch_sub(1, std::memory_order_relaxed);
  if (me.serves) stop_serving(e, me);
  leave_waiting(e);
}

void tell_waiters(Engine& e, Waiting* waiting) {
  Waiters& w = e.waiters;
  if (waiting != nullptr && waiting->bell != nullptr) {
    // The bell is there: its thread takes it away under this context's lock. release: pairs with
    // Bell's question, which the server of its home asks
    waiting->bell->rung.store(true, std::memory_order_release);
    waiting->bell->home->inbox.ring();
    waiting = nullptr;
  }
  const bool complete = waiting != nullptr && waiting->pending > 0 && --waiting->pending == 0;
  if (complete && waiting->listed) give_signal(e, *waiting);
  if (w.sleeping == 0) return;
  const bool for_server = w.most_servers == 0 || (complete && waiting->serves) ||
                          !w.watchers.empty() || w.watching_servers > 0;
  if (for_server) e.inbox.wake();
}

}  // namespace weft::pt2pt
