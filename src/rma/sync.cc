// SPDX-License-Identifier: Apache-2.0
//
// Synchronization (MPI-5.0 §12.5). Operations on this node are over when their calls return, so
// what ends an epoch has nothing to wait for there but other ranks' calls: their words in shared
// memory. Who changes a word rings at the mailbox of the rank that may wait for it.
//
// With members on other nodes the same is said by messages, which the receiver applies to its own
// words (serve.cc). Messages of a pair of ranks travel in order, so what follows an operation finds
// it done; only an end of an epoch that tells third ranks (a fence, an unlock) asks first.
//
// An epoch of MPI_Win_lock_all costs nothing for targets that are not accessed: each is locked at
// the first access. What can be accessed without a call is locked at once: the rank's own memory,
// and all of a shared window.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>
#include <vector>

#include "object/group.h"
#include "pt2pt/completion.h"
#include "pt2pt/deaths.h"
#include "pt2pt/engine.h"
#include "rma/messages.h"
#include "rma/races.h"

namespace weft::rma {
namespace {

using Epoch = Window::Epoch;

/// This rank's access epoch towards another one.
Held held(Window& win, int rank) {
  if (win.unchecked) return Held::unchecked;
  if (const Target* near = win.near(rank)) return near->held;
  const auto at = win.remotes.find(rank);
  return at != win.remotes.end() ? at->second.held : Held::no;
}
void set_held(Window& win, int rank, Held how) {
  if (Target* near = win.near(rank))
    near->held = how;
  else
    win.away(rank).held = how;
}

/// Wait for what rank `rank` does, by `call`; MPI_ANY_SOURCE: any of the others. Or
/// until somebody of the window is dead: then nothing is waited for any more, and take_error() says
/// it.
template <class Done>
void await(Window& win, int rank, const char* call, Done&& done) {
  if (done()) return;
  const pt2pt::About about{.what = hang::What::window,
                           .comm = &win.comm,
                           .rank = rank,
                           .window = win.name.c_str(),
                           .window_call = call};
  pt2pt::wait_until(win.engine(), done, {.one_is_enough = rank == MPI_ANY_SOURCE, .about = &about},
                    [&win] { return pt2pt::dead_member(win.comm) >= 0; });
}

/// The same for an answer of a rank on another node, which it gives in any MPI call: nobody is
/// stuck because that rank waits.
template <class Done>
void await_answer(Window& win, const Remote& r, const char* to, Done&& done) {
  if (done()) return;
  char call[hang::call_bytes];
  std::snprintf(call, sizeof call, "answer to %s by %d", to, r.rank);
  await(win, MPI_ANY_SOURCE, call, done);
}

/// Wait for the turn of a ticket, and say who holds the lock.
template <class Done>
void await_turn(Window& win, Target& target, Done&& done) {
  if (done()) return;
  const auto holds = [](const void* words, int rank) {
    // relaxed: for a report
    return static_cast<const Words*>(words)->holder.load(std::memory_order_relaxed) ==
           static_cast<std::uint32_t>(rank) + 1;
  };
  const bool is_known = target.words->holder.load(std::memory_order_relaxed) != 0;
  const pt2pt::About about{.what = hang::What::window,
                           .comm = &win.comm,
                           .rank = MPI_ANY_SOURCE,
                           .window = win.name.c_str(),
                           .window_call = "MPI_Win_unlock",
                           .lacks = is_known ? +holds : nullptr,
                           .object = target.words};
  pt2pt::wait_until(win.engine(), done, {.one_is_enough = true, .about = &about},
                    [&win] { return pt2pt::dead_member(win.comm) >= 0; });
}

/// Until this rank's operations on all of `remotes` are over: here, or also there.
enum class Over { here, there };
template <class Remotes>
void await_all(Window& win, const Remotes& remotes, Over where) {
  const bool there = where == Over::there;
  for (Remote* r : remotes)
    if (there) ask_whether_done(win, *r);
  for (Remote* r : remotes)
    await_answer(win, *r, "operations",
                 [r, there] { return there ? is_done_there(*r) : is_done_here(*r); });
}

/// What ends the epoch says that operations are done; so none of those that follow has to ask.
void expect_no_question(Remote& r) {
  if (r.since > 0) r.usual = 0;
  r.since = 0;
}

std::vector<Remote*> all_remotes(Window& win) {
  std::vector<Remote*> all;
  for (auto& [rank, remote] : win.remotes)
    if (!is_done_there(remote)) all.push_back(&remote);
  return all;
}

/// A look at other ranks' doing: messages go on, too, and a crowded core is given away now and
/// then.
void look(Window& win) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  pt2pt::progress(win.engine());
  pt2pt::looked_in_vain(win.engine());
}

/// Where operations end, which is no waiting, as a rule: the same now and then.
void look_at_end(Window& win) {
  const std::uint32_t next = win.ends.load(std::memory_order_relaxed) + 1;
  win.ends.store(next, std::memory_order_relaxed);
  if (next % ends_per_look != 0) return;
  pt2pt::progress(win.engine());
  if (next % (ends_per_look * looks_per_vain) == 0) pt2pt::looked_in_vain(win.engine());
}

const char* words_for(const Window& win) {
  switch (win.epoch) {
    case Epoch::none:
      break;
    case Epoch::fence:
      return "an epoch of MPI_Win_fence is open";
    case Epoch::started:
      return "an epoch of MPI_Win_start is open: end it with MPI_Win_complete";
    case Epoch::locks:
      return "an epoch of MPI_Win_lock is open: end it with MPI_Win_unlock";
    case Epoch::lock_all:
      return "an epoch of MPI_Win_lock_all is open: end it with MPI_Win_unlock_all";
  }
  return "no access epoch is open";
}

/// May an access epoch of another kind begin? One of a fence counts only once it was used.
Err check_free(const Window& win) {
  if (win.epoch == Epoch::none ||
      (win.epoch == Epoch::fence && !win.used.load(std::memory_order_relaxed)))
    return ok;
  return fail(MPI_ERR_RMA_SYNC, "%s%s", words_for(win),
              win.epoch == Epoch::fence
                  ? " and has been used: end it with MPI_Win_fence and MPI_MODE_NOSUCCEED"
                  : "");
}

Err check_is(const Window& win, Epoch epoch, const char* begins) {
  if (win.epoch == epoch) return ok;
  return fail(MPI_ERR_RMA_SYNC, "%s; expected one that %s has begun", words_for(win), begins);
}

Err check_passive(const Window& win) {
  if (win.epoch == Epoch::locks || win.epoch == Epoch::lock_all) return ok;
  return fail(MPI_ERR_RMA_SYNC,
              "%s; expected one of MPI_Win_lock or MPI_Win_lock_all, which alone has flushes",
              words_for(win));
}

Err check_assert(int assert, int allowed, const char* names) {
  if ((assert & ~allowed) == 0) return ok;
  return fail(MPI_ERR_ASSERT, "assert is %d; expected 0 or a combination of %s", assert, names);
}

// --- locks

/// Places for tickets that wait: see Target::waiting.
std::uint32_t places(const Window& win) {
  return static_cast<std::uint32_t>(win.targets.size()) + 1;
}
std::atomic<std::uint32_t>& place_of(const Window& win, Target& target, std::uint32_t ticket) {
  return target.waiting[ticket % places(win)];
}

/// Wake who waits for the turns that have come. Who takes a ticket after this look at `next` finds
/// the turn itself.
void ring_next(Window& win, Target& target) {
  // Every ticket was that of a reader who has come in, or of a writer who has left.
  if (target.words->next.load() == target.words->readers.load()) return;
  const std::uint32_t turns[] = {target.words->readers.load(), target.words->writers.load()};
  for (const std::uint32_t turn : turns)
    if (const std::uint32_t who = place_of(win, target, turn).load(); who != 0)
      win.targets[who - 1].mailbox.ring();
}

/// Take a ticket, and say that this rank waits with it.
std::uint32_t take_ticket(Window& win, Target& target) {
  const std::uint32_t ticket = target.words->next.fetch_add(1);
  place_of(win, target, ticket).store(static_cast<std::uint32_t>(win.my_index) + 1);
  return ticket;
}
std::atomic<std::uint32_t>& turn_of(Target& target, bool shared) {
  return shared ? target.words->readers : target.words->writers;
}
/// The turn of a ticket that waited has come.
void leave_place(Window& win, Target& target, std::uint32_t ticket) {
  // Nobody else is there: all later tickets still wait, and they are fewer than there are places.
  std::uint32_t mine = static_cast<std::uint32_t>(win.my_index) + 1;
  place_of(win, target, ticket).compare_exchange_strong(mine, 0);
}
void use_turn(Window& win, Target& target, bool shared, int who) {
  if (!shared) {
    // relaxed: for a report
    target.words->holder.store(static_cast<std::uint32_t>(who) + 1, std::memory_order_relaxed);
    return;
  }
  target.words->readers.fetch_add(1);
  ring_next(win, target);
}
void give_back(Window& win, Target& target, bool shared) {
  if (!shared) {
    target.words->holder.store(0, std::memory_order_relaxed);  // for a report
    // Nobody else changes it now. release: what was done under the lock; the seq_cst addition that
    // follows keeps it before the look at `next` (x86-64: a fence; aarch64: release, then acquire).
    std::atomic<std::uint32_t>& readers = target.words->readers;
    readers.store(readers.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  target.words->writers.fetch_add(1);
  ring_next(win, target);
}

/// Come in beside readers, past writers that wait, by taking back the end of one of those who have
/// left. False: there are no readers. They are readers - writers; `readers` never falls, and passes
/// no writer who has not left, so while `writers` is what it was before the look at `readers`, and
/// less, no writer is there.
bool join_readers(Target& target) {
  std::uint32_t left = target.words->writers.load();
  while (target.words->readers.load() != left)
    if (target.words->writers.compare_exchange_weak(left, left - 1)) return true;
  return false;
}

/// Take the next ticket if it is its turn: then nobody has to know.
bool take_free_turn(Target& target, bool shared) {
  std::uint32_t ticket = turn_of(target, shared).load();
  return target.words->next.load() == ticket &&
         target.words->next.compare_exchange_strong(ticket, ticket + 1);
}

void take_turn(Window& win, Target& target, bool shared) {
  if (!take_free_turn(target, shared)) {
    const std::atomic<std::uint32_t>& turn = turn_of(target, shared);
    const std::uint32_t ticket = take_ticket(win, target);
    await_turn(win, target, [&] { return turn.load() == ticket; });
    leave_place(win, target, ticket);
  }
  use_turn(win, target, shared, win.me());
}

void begin_locked(Target& target, Held how) {
  // release: it is locked; pairs with lock_lazily()
  std::atomic_ref(target.held).store(how, std::memory_order_release);
}

/// With MPI_Win_lock_all a rank waits for locks while it has others, in any order. Then it must not
/// wait behind a writer who waits for a reader who waits for it.
void acquire(Window& win, Target& target, Held how) {
  const bool shared = how == Held::shared;
  if (win.epoch != Epoch::lock_all || !join_readers(target)) take_turn(win, target, shared);
  begin_locked(target, how);
}

void ask_for_lock(Window& win, Remote& r, Held how) {
  r.granted = false;
  r.asked = true;
  send(win, r.world_rank, {.kind = Kind::lock, .number = how == Held::shared ? 1U : 0U});
  await_answer(win, r, "MPI_Win_lock", [&r] { return r.granted; });
  r.asked = false;
  r.held = how;
}

void acquire(Window& win, int rank, Held how) {
  if (Target* near = win.near(rank)) [[likely]]
    acquire(win, *near, how);
  else
    ask_for_lock(win, win.away(rank), how);
}

void release(Window& win, Target& target) {
  const Held how = std::exchange(target.held, Held::no);
  if (how == Held::exclusive || how == Held::shared)
    give_back(win, target, how == Held::shared);  // which is a fence, too
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// All that this rank has done is done there, then the locks are given back.
void release_away(Window& win, const std::vector<Remote*>& remotes) {
  await_all(win, remotes, Over::here);
  for (Remote* r : remotes) {
    expect_no_question(*r);
    if (r->held == Held::unchecked || r->held == Held::no) continue;
    r->granted = false;
    send(win, r->world_rank, {.kind = Kind::unlock, .number = r->held == Held::shared ? 1U : 0U});
  }
  for (Remote* r : remotes) {
    if (r->held == Held::unchecked || r->held == Held::no) continue;
    const std::uint64_t issued = r->issued;
    await_answer(win, *r, "MPI_Win_unlock", [r] { return r->granted; });
    r->confirmed = std::max(r->confirmed, issued);  // the answer came behind them
    r->held = Held::no;
  }
  await_all(win, remotes, Over::there);
  for (Remote* r : remotes) r->held = Held::no;
}

Err check_locks(const Window& win) {
  if (!win.no_locks) return ok;
  return fail(MPI_ERR_RMA_SYNC,
              "the window was made with the info key no_locks=true, so it cannot be locked");
}

bool is_locked(Held how) {
  return how == Held::shared || how == Held::exclusive || how == Held::unchecked;
}

Err check_locked(Window& win, int rank) {
  if (win.epoch == Epoch::locks && is_locked(held(win, rank))) return ok;
  return fail(MPI_ERR_RMA_SYNC, "rank %d of the window is not locked by this rank: %s", rank,
              words_for(win));
}

/// The members of `group` as ranks of the window.
Err translate(const Window& win, const object::Group& group, std::vector<int>* out) {
  out->clear();
  for (const std::int32_t member : group.members) {
    const int rank = object::rank_in(*win.comm.group, member);
    if (rank == MPI_UNDEFINED)
      return fail(MPI_ERR_GROUP,
                  "the group has rank %d of MPI_COMM_WORLD, which is no member of the window",
                  member);
    out->push_back(rank);
  }
  return ok;
}

/// All members of `exposed_to` have called MPI_Win_complete.
bool is_exposure_over(Window& win) {
  const std::uint32_t now = win.mine().words->completed.load();
  return static_cast<std::int32_t>(now - win.completions) >= 0;
}

}  // namespace

void barrier(Window& win) {
  const int n = win.members();
  const std::uint32_t number = ++win.barriers;
  Words& mine = *win.mine().words;
  for (int k = 0, distance = 1; distance < n; ++k, distance *= 2) {
    const int rank = (win.me() + distance) % n;
    if (Target* to = win.near(rank)) {
      to->words->arrived[k].store(number);
      to->mailbox.ring();
    } else {
      send(win, win.away(rank).world_rank,
           {.kind = Kind::arrive, .number = number, .name = static_cast<std::uint32_t>(k)});
    }
    // Who comes from there may be one barrier ahead.
    await(win, (win.me() - distance + n) % n, "MPI_Win_fence or MPI_Win_free",
          [&] { return static_cast<std::int32_t>(mine.arrived[k].load() - number) >= 0; });
  }
}

void settle(Window& win) {
  await_all(win, all_remotes(win), Over::there);
}

/// Of several threads the first locks; those that follow take no lock of the rank's.
void lock_lazily(Window& win, Target& target) {
  if (win.epoch != Epoch::lock_all || win.unchecked) return;
  // acquire: pairs with acquire()
  if (std::atomic_ref(target.held).load(std::memory_order_acquire) != Held::no) return;
  const pt2pt::Inside inside(win.engine());
  if (target.held == Held::no) acquire(win, target, Held::shared);
}

void lock_lazily(Window& win, Remote& remote) {
  if (win.epoch != Epoch::lock_all || win.unchecked || remote.held != Held::no) return;
  if (remote.asked)  // by another thread
    await_answer(win, remote, "MPI_Win_lock", [&remote] { return remote.held != Held::no; });
  else
    ask_for_lock(win, remote, Held::shared);
}

bool grant_locks(Window& win) {
  Target& mine = win.mine();
  while (!win.lock_requests.empty()) {
    const LockRequest first = win.lock_requests.front();
    if (!win.has_lock_ticket) win.lock_ticket = take_ticket(win, mine);
    win.has_lock_ticket = true;
    // The ticket is in its place before this look, and who changes the turn looks there after it
    // (ring_next); so either this look finds the turn, or this rank is woken and looks again.
    if (turn_of(mine, first.shared).load() != win.lock_ticket) return false;
    win.has_lock_ticket = false;
    win.lock_requests.pop_front();
    leave_place(win, mine, win.lock_ticket);
    use_turn(win, mine, first.shared, first.rank);
    send(win, win.away(first.rank).world_rank, {.kind = Kind::granted}, {}, Order::urgent);
  }
  return true;
}

void give_lock_back(Window& win, bool shared) {
  give_back(win, win.mine(), shared);
}

Err check_epoch(Window& win, int rank, bool passive) {
  if (passive && win.epoch != Epoch::locks && win.epoch != Epoch::lock_all)
    return fail(MPI_ERR_RMA_SYNC,
                "%s; an operation with a request is legal in one of MPI_Win_lock or "
                "MPI_Win_lock_all only",
                words_for(win));
  switch (win.epoch) {
    case Epoch::none:
      return fail(MPI_ERR_RMA_SYNC,
                  "%s: begin one with MPI_Win_fence, MPI_Win_start, MPI_Win_lock or "
                  "MPI_Win_lock_all",
                  words_for(win));
    case Epoch::fence:
      if (!win.used.load(std::memory_order_relaxed))
        win.used.store(true, std::memory_order_relaxed);
      return ok;
    case Epoch::lock_all:
      return ok;
    case Epoch::started:
      if (rank == MPI_PROC_NULL || held(win, rank) == Held::started) return ok;
      return fail(MPI_ERR_RMA_SYNC, "target rank %d is not in the group given to MPI_Win_start",
                  rank);
    case Epoch::locks:
      if (rank == MPI_PROC_NULL || is_locked(held(win, rank))) return ok;
      return fail(MPI_ERR_RMA_SYNC, "target rank %d is not locked by this rank", rank);
  }
  return ok;
}

namespace {

/// For the trace: which window and target this call is about, if the window is not simple.
void note_call(Window& win, int rank) {
  if (Trace* const trace = win.engine().trace.get(); trace != nullptr)
    trace->note({trace->keep(win.name), rank, -1});
}

// --- active targets

Err before_fence(Window& win, int assert) {
  note_call(win, -1);
  if (!win.is_compared) return ok;
  note_fence(win, assert);
  const Err e = check_posts(win, "MPI_Win_fence");
  if (e) win.mine().book->fences.store(win.fences);  // there is none
  return e;
}

}  // namespace

Err fence(Window& win, int assert) {
  WEFT_TRY(check_assert(
      assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
      "MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED"));
  if (win.epoch != Epoch::none && win.epoch != Epoch::fence)
    return fail(MPI_ERR_RMA_SYNC, "%s", words_for(win));
  const bool used = win.used.load(std::memory_order_relaxed);
  if (used && (assert& MPI_MODE_NOPRECEDE) != 0)
    return fail(MPI_ERR_RMA_SYNC,
                "assert has MPI_MODE_NOPRECEDE, but this rank has accessed the window since the "
                "last fence");
  count(win, &Counters::rma_syncs);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!win.is_simple) {
    WEFT_TRY(before_fence(win, assert));
    await_all(win, all_remotes(win), Over::there);
  }
  barrier(win);
  if (win.epoch == Epoch::fence && used) count(win, &Counters::rma_epochs);
  win.epoch = (assert& MPI_MODE_NOSUCCEED) != 0 ? Epoch::none : Epoch::fence;
  win.used.store(false, std::memory_order_relaxed);
  if (win.is_simple) return ok;
  if (win.is_compared) WEFT_TRY(check_fence(win, assert));
  return take_error(win);
}

Err post(Window& win, const object::Group& group, int assert) {
  WEFT_TRY(check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                        "MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT"));
  if (win.exposed)
    return fail(MPI_ERR_RMA_SYNC,
                "an exposure epoch of MPI_Win_post is open: end it with MPI_Win_wait first");
  WEFT_TRY(translate(win, group, &win.exposed_to));
  if (!win.is_simple) {
    note_call(win, -1);
    if (win.is_compared) note_post(win, assert);
  }
  win.exposed = true;
  win.completions += static_cast<std::uint32_t>(win.exposed_to.size());
  for (const int rank : win.exposed_to) {
    if (Target* to = win.near(rank)) {
      to->posted[win.my_index].fetch_add(1);
      to->mailbox.ring();
    } else {
      send(win, win.away(rank).world_rank, {.kind = Kind::post});
    }
  }
  return ok;
}

namespace {

Err await_post(Window& win, int rank, int assert) {
  if (Target* from = win.near(rank)) {
    const std::uint32_t number = ++from->posts_seen;
    const std::atomic<std::uint32_t>& posted = win.mine().posted[from - win.targets.data()];
    const auto is_there = [&] { return static_cast<std::int32_t>(posted.load() - number) >= 0; };
    const bool waits = win.is_compared && !is_there();
    if (waits)
      if (const Err e = begin_await_post(win, *from, assert)) {
        --from->posts_seen;
        return e;
      }
    await(win, rank, "MPI_Win_post", is_there);
    if (waits) end_await_post(win, *from);
    return ok;
  }
  Remote& r = win.away(rank);
  const std::uint32_t number = ++r.posts_seen;
  await(win, rank, "MPI_Win_post",
        [&] { return static_cast<std::int32_t>(r.posts - number) >= 0; });
  return ok;
}

}  // namespace

Err start(Window& win, const object::Group& group, int assert) {
  WEFT_TRY(check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  WEFT_TRY(check_free(win));
  WEFT_TRY(translate(win, group, &win.group));
  count(win, &Counters::rma_syncs);
  if (!win.is_simple) note_call(win, -1);
  for (const int rank : win.group) {
    WEFT_TRY(await_post(win, rank, assert));
    set_held(win, rank, Held::started);
  }
  win.epoch = Epoch::started;
  return ok;
}

Err complete(Window& win) {
  WEFT_TRY(check_is(win, Epoch::started, "MPI_Win_start"));
  count(win, &Counters::rma_syncs);
  count(win, &Counters::rma_epochs);
  if (!win.is_simple) note_call(win, -1);
  for (const int rank : win.group) {
    set_held(win, rank, Held::no);
    if (Target* to = win.near(rank)) {
      to->words->completed.fetch_add(1);
      to->mailbox.ring();
    } else {
      // It comes behind all that was pushed; what is read from here has to be over.
      Remote& r = win.away(rank);
      expect_no_question(r);
      await(win, rank, "part in operations", [&r] { return is_done_here(r); });
      send(win, r.world_rank, {.kind = Kind::complete});
    }
  }
  win.epoch = Epoch::none;
  return take_error(win);
}

namespace {

void end_exposure(Window& win) {
  win.exposed = false;
  if (win.is_simple) return;
  note_call(win, -1);
  if (win.is_compared) note_wait(win);
}

}  // namespace

Err wait(Window& win) {
  if (!win.exposed)
    return fail(MPI_ERR_RMA_SYNC, "no exposure epoch is open: MPI_Win_post begins one");
  await(win, win.exposed_to.size() == 1 ? win.exposed_to[0] : MPI_ANY_SOURCE, "MPI_Win_complete",
        [&] { return is_exposure_over(win); });
  end_exposure(win);
  return pt2pt::died_if_any(win.comm);
}

Err test(Window& win, int* flag) {
  if (!win.exposed)
    return fail(MPI_ERR_RMA_SYNC, "no exposure epoch is open: MPI_Win_post begins one");
  *flag = is_exposure_over(win) ? 1 : 0;
  if (*flag != 0)
    end_exposure(win);
  else
    look(win);
  return ok;
}

// --- passive targets

namespace {

/// Of one target, or (-1) of all.
void end_accesses(Window& win, int rank, Forget which) {
  note_call(win, rank);
  if (!win.is_compared) return;
  if (rank == -1)
    forget_all(win, which);
  else
    forget(win, rank, which);
}

}  // namespace

Err lock(Window& win, int type, int rank, int assert) {
  WEFT_TRY(check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)
    return fail(MPI_ERR_LOCKTYPE, "lock_type is %d; expected MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE",
                type);
  WEFT_TRY(check_locks(win));
  if (win.epoch != Epoch::locks) WEFT_TRY(check_free(win));
  if (rank == MPI_PROC_NULL) {
    win.epoch = Epoch::locks;
    ++win.locks;
    return ok;
  }
  if (held(win, rank) != Held::no)
    return fail(MPI_ERR_RMA_SYNC, "rank %d of the window is locked by this rank already", rank);
  count(win, &Counters::rma_syncs);
  if (!win.is_simple) {
    note_call(win, rank);
    if (win.is_compared && (assert& MPI_MODE_NOCHECK) != 0)
      WEFT_TRY(check_unchecked_lock(win, rank));
  }
  win.epoch = Epoch::locks;
  ++win.locks;
  if ((assert& MPI_MODE_NOCHECK) != 0)
    set_held(win, rank, Held::unchecked);
  else
    acquire(win, rank, type == MPI_LOCK_SHARED ? Held::shared : Held::exclusive);
  return ok;
}

bool lock_at_once(Window& win, int type, int rank, int assert) {
  const bool is_legal = (type == MPI_LOCK_EXCLUSIVE || type == MPI_LOCK_SHARED) && assert == 0 &&
                        static_cast<std::size_t>(rank) < win.at_once.size() && !win.no_locks &&
                        (win.epoch == Epoch::none || win.epoch == Epoch::locks);
  if (!is_legal) return false;
  Target& target = win.at_once[static_cast<std::size_t>(rank)];
  const bool shared = type == MPI_LOCK_SHARED;
  if (target.held != Held::no || !take_free_turn(target, shared)) return false;
  use_turn(win, target, shared, win.me());
  begin_locked(target, shared ? Held::shared : Held::exclusive);
  win.epoch = Epoch::locks;
  ++win.locks;
  count(win, &Counters::rma_syncs);
  return true;
}

bool unlock_at_once(Window& win, int rank) {
  const bool is_legal = static_cast<std::size_t>(rank) < win.at_once.size() &&
                        win.epoch == Epoch::locks &&
                        is_locked(win.at_once[static_cast<std::size_t>(rank)].held);
  if (!is_legal || shm::has_deaths(*win.engine().job) || !win.ends_at_once()) return false;
  release(win, win.at_once[static_cast<std::size_t>(rank)]);
  if (--win.locks == 0) win.epoch = Epoch::none;
  count(win, &Counters::rma_syncs);
  count(win, &Counters::rma_epochs);
  return true;
}

Err unlock(Window& win, int rank) {
  if (rank == MPI_PROC_NULL)
    WEFT_TRY(check_is(win, Epoch::locks, "MPI_Win_lock"));
  else
    WEFT_TRY(check_locked(win, rank));
  count(win, &Counters::rma_syncs);
  if (!win.is_simple) end_accesses(win, rank, Forget::all);
  if (rank != MPI_PROC_NULL) {
    count(win, &Counters::rma_epochs);
    if (Target* near = win.near(rank))
      release(win, *near);
    else
      release_away(win, {&win.away(rank)});
  }
  if (--win.locks == 0) win.epoch = Epoch::none;
  look_at_end(win);
  return take_error(win);
}

Err lock_all(Window& win, int assert) {
  WEFT_TRY(check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  WEFT_TRY(check_locks(win));
  WEFT_TRY(check_free(win));
  win.epoch = Epoch::lock_all;
  if ((assert& MPI_MODE_NOCHECK) != 0) {
    win.unchecked = true;
    return ok;
  }
  for (Target& target : win.targets)
    if (target.rank == win.me() || win.flavor == MPI_WIN_FLAVOR_SHARED)
      acquire(win, target, Held::shared);
  return ok;
}

Err unlock_all(Window& win) {
  WEFT_TRY(check_is(win, Epoch::lock_all, "MPI_Win_lock_all"));
  count(win, &Counters::rma_syncs);
  count(win, &Counters::rma_epochs);
  if (!win.is_simple) end_accesses(win, -1, Forget::all);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::vector<Remote*> remotes;
  for (auto& [rank, remote] : win.remotes)
    if (remote.held != Held::no || !is_done_there(remote)) remotes.push_back(&remote);
  release_away(win, remotes);
  for (Target& target : win.targets)
    if (target.held != Held::no) release(win, target);
  win.unchecked = false;
  win.epoch = Epoch::none;
  look(win);
  return take_error(win);
}

namespace {

Err flush_some(Window& win, const std::vector<Remote*>& remotes, Over where) {
  count(win, &Counters::rma_syncs);
  win.fence_stores();
  if (remotes.empty()) {
    look_at_end(win);
    return ok;
  }
  await_all(win, remotes, where);
  if (where == Over::here) look(win);  // there may have been nothing to wait for
  return take_error(win);
}

/// What brings data is over with it.
Forget ended_by(Over where) {
  return where == Over::there ? Forget::all : Forget::those_that_bring;
}

Err flush_one(Window& win, int rank, Over where) {
  WEFT_TRY(check_passive(win));
  if (rank != MPI_PROC_NULL && win.epoch == Epoch::locks) WEFT_TRY(check_locked(win, rank));
  if (!win.is_simple) {
    end_accesses(win, rank, ended_by(where));
    if (is_away(win, rank)) return flush_some(win, {&win.away(rank)}, where);
  }
  return flush_some(win, {}, where);
}

Err flush_any(Window& win, Over where) {
  WEFT_TRY(check_passive(win));
  if (win.is_simple) return flush_some(win, {}, where);
  end_accesses(win, -1, ended_by(where));
  return flush_some(win, all_remotes(win), where);
}

}  // namespace

Err flush(Window& win, int rank) {
  return flush_one(win, rank, Over::there);
}

Err flush_local(Window& win, int rank) {
  return flush_one(win, rank, Over::here);
}

Err flush_all(Window& win) {
  return flush_any(win, Over::there);
}

Err flush_local_all(Window& win) {
  return flush_any(win, Over::here);
}

Err sync(Window& win) {
  look(win);
  return ok;
}

}  // namespace weft::rma
