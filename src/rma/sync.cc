// SPDX-License-Identifier: Apache-2.0
//
// Synchronization (MPI-5.0 §12.5). Operations are over when their calls return, so what ends an
// epoch has nothing to wait for but other ranks' calls: their words in shared memory. Who changes a
// word rings at the mailbox of the rank that may wait for it.
//
// An epoch of MPI_Win_lock_all costs nothing for targets that are not accessed: each is locked at
// the first access. What can be accessed without a call is locked at once: the rank's own memory,
// and all of a shared window.
#include <algorithm>
#include <atomic>

#include "object/group.h"
#include "pt2pt/completion.h"
#include "pt2pt/engine.h"
#include "rma/window.h"

namespace weft::rma {
namespace {

using Epoch = Window::Epoch;

Target& at(Window& win, int rank) {
  return win.targets[static_cast<std::size_t>(rank)];
}
Held& held(Window& win, int rank) {
  return win.held[static_cast<std::size_t>(rank)];
}
std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

/// Wait for what rank `rank` does; MPI_ANY_SOURCE: any of the others.
template <class Done>
void await(Window& win, int rank, Done&& done) {
  if (done()) return;
  const pt2pt::About about{.what = hang::What::window, .comm = &win.comm, .rank = rank};
  pt2pt::wait_until(win.engine(), done, {.one_is_enough = rank == MPI_ANY_SOURCE, .about = &about});
}

/// A look at other ranks' doing: messages go on, too, and a crowded core is given away now and
/// then.
void look(Window& win) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  pt2pt::progress(win.engine());
  pt2pt::looked_in_vain(win.engine());
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
  if (win.epoch == Epoch::none || (win.epoch == Epoch::fence && !win.used)) return ok;
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

/// Wake who waits for the turns that have come.
void ring_next(Window& win, Target& target) {
  const auto n = static_cast<std::uint32_t>(win.members());
  const std::uint32_t turns[] = {target.words->readers.load(), target.words->writers.load()};
  for (const std::uint32_t turn : turns)
    if (const std::uint32_t who = target.waiting[turn % n].load(); who != 0)
      at(win, static_cast<int>(who) - 1).mailbox.ring();
}

void acquire(Window& win, int rank, Held how) {
  Target& target = at(win, rank);
  Words& words = *target.words;
  const bool shared = how == Held::shared;
  std::atomic<std::uint32_t>& turn = shared ? words.readers : words.writers;
  const std::uint32_t ticket = words.next.fetch_add(1);
  if (turn.load() != ticket) {
    const auto me = static_cast<std::uint32_t>(win.me()) + 1;
    std::atomic<std::uint32_t>& slot =
        target.waiting[ticket % static_cast<std::uint32_t>(win.members())];
    slot.store(me);
    await(win, MPI_ANY_SOURCE, [&] { return turn.load() == ticket; });
    std::uint32_t mine = me;
    slot.compare_exchange_strong(mine, 0);  // unless a later ticket has it already
  }
  if (shared) {
    words.readers.fetch_add(1);
    ring_next(win, target);
  }
  held(win, rank) = how;
}

void release(Window& win, int rank) {
  Target& target = at(win, rank);
  const Held how = held(win, rank);
  held(win, rank) = Held::no;
  if (how == Held::exclusive) target.words->readers.fetch_add(1);
  if (how == Held::exclusive || how == Held::shared) {
    target.words->writers.fetch_add(1);
    ring_next(win, target);
  }
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
  const std::uint32_t now = at(win, win.me()).words->completed.load();
  return static_cast<std::int32_t>(now - win.completions) >= 0;
}

}  // namespace

void barrier(Window& win) {
  const int n = win.members();
  const std::uint32_t number = ++win.barriers;
  Words& mine = *at(win, win.me()).words;
  for (int k = 0, distance = 1; distance < n; ++k, distance *= 2) {
    Target& to = at(win, (win.me() + distance) % n);
    to.words->arrived[k].store(number);
    to.mailbox.ring();
    // Who comes from there may be one barrier ahead.
    await(win, (win.me() - distance + n) % n,
          [&] { return static_cast<std::int32_t>(mine.arrived[k].load() - number) >= 0; });
  }
}

void lock_lazily(Window& win, int rank) {
  if (win.epoch != Epoch::lock_all || held(win, rank) != Held::no) return;
  const pt2pt::Inside inside(win.engine());
  if (held(win, rank) == Held::no) acquire(win, rank, Held::shared);
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
      win.used = true;
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

// --- active targets

Err fence(Window& win, int assert) {
  WEFT_TRY(check_assert(
      assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
      "MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED"));
  if (win.epoch != Epoch::none && win.epoch != Epoch::fence)
    return fail(MPI_ERR_RMA_SYNC, "%s", words_for(win));
  if (win.used && (assert& MPI_MODE_NOPRECEDE) != 0)
    return fail(MPI_ERR_RMA_SYNC,
                "assert has MPI_MODE_NOPRECEDE, but this rank has accessed the window since the "
                "last fence");
  std::atomic_thread_fence(std::memory_order_seq_cst);
  barrier(win);
  win.epoch = (assert& MPI_MODE_NOSUCCEED) != 0 ? Epoch::none : Epoch::fence;
  win.used = false;
  return ok;
}

Err post(Window& win, const object::Group& group, int assert) {
  WEFT_TRY(check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                        "MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT"));
  if (win.exposed)
    return fail(MPI_ERR_RMA_SYNC,
                "an exposure epoch of MPI_Win_post is open: end it with MPI_Win_wait first");
  WEFT_TRY(translate(win, group, &win.exposed_to));
  win.exposed = true;
  win.completions += static_cast<std::uint32_t>(win.exposed_to.size());
  for (const int rank : win.exposed_to) {
    Target& to = at(win, rank);
    to.posted[index(win.me())].fetch_add(1);
    to.mailbox.ring();
  }
  return ok;
}

Err start(Window& win, const object::Group& group, int assert) {
  WEFT_TRY(check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  WEFT_TRY(check_free(win));
  WEFT_TRY(translate(win, group, &win.group));
  Target& me = at(win, win.me());
  for (const int rank : win.group) {
    const std::uint32_t number = ++win.posts_seen[index(rank)];
    const std::atomic<std::uint32_t>& posted = me.posted[index(rank)];
    await(win, rank, [&] { return static_cast<std::int32_t>(posted.load() - number) >= 0; });
    held(win, rank) = Held::started;
  }
  win.epoch = Epoch::started;
  return ok;
}

Err complete(Window& win) {
  WEFT_TRY(check_is(win, Epoch::started, "MPI_Win_start"));
  for (const int rank : win.group) {
    held(win, rank) = Held::no;
    Target& to = at(win, rank);
    to.words->completed.fetch_add(1);
    to.mailbox.ring();
  }
  win.epoch = Epoch::none;
  return ok;
}

Err wait(Window& win) {
  if (!win.exposed)
    return fail(MPI_ERR_RMA_SYNC, "no exposure epoch is open: MPI_Win_post begins one");
  await(win, MPI_ANY_SOURCE, [&] { return is_exposure_over(win); });
  win.exposed = false;
  return ok;
}

Err test(Window& win, int* flag) {
  if (!win.exposed)
    return fail(MPI_ERR_RMA_SYNC, "no exposure epoch is open: MPI_Win_post begins one");
  *flag = is_exposure_over(win) ? 1 : 0;
  if (*flag != 0)
    win.exposed = false;
  else
    look(win);
  return ok;
}

// --- passive targets

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
  win.epoch = Epoch::locks;
  ++win.locks;
  if ((assert& MPI_MODE_NOCHECK) != 0)
    held(win, rank) = Held::unchecked;
  else
    acquire(win, rank, type == MPI_LOCK_SHARED ? Held::shared : Held::exclusive);
  return ok;
}

Err unlock(Window& win, int rank) {
  if (rank == MPI_PROC_NULL)
    WEFT_TRY(check_is(win, Epoch::locks, "MPI_Win_lock"));
  else
    WEFT_TRY(check_locked(win, rank));
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (rank != MPI_PROC_NULL) release(win, rank);
  if (--win.locks == 0) win.epoch = Epoch::none;
  look(win);
  return ok;
}

Err lock_all(Window& win, int assert) {
  WEFT_TRY(check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  WEFT_TRY(check_locks(win));
  WEFT_TRY(check_free(win));
  win.epoch = Epoch::lock_all;
  if ((assert& MPI_MODE_NOCHECK) != 0) {
    std::fill(win.held.begin(), win.held.end(), Held::unchecked);
    return ok;
  }
  for (int rank = 0; rank < win.members(); ++rank)
    if (rank == win.me() || win.flavor == MPI_WIN_FLAVOR_SHARED) acquire(win, rank, Held::shared);
  return ok;
}

Err unlock_all(Window& win) {
  WEFT_TRY(check_is(win, Epoch::lock_all, "MPI_Win_lock_all"));
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int rank = 0; rank < win.members(); ++rank)
    if (held(win, rank) != Held::no) release(win, rank);
  win.epoch = Epoch::none;
  look(win);
  return ok;
}

Err flush(Window& win, int rank) {
  WEFT_TRY(check_passive(win));
  if (rank != MPI_PROC_NULL && win.epoch == Epoch::locks) WEFT_TRY(check_locked(win, rank));
  look(win);
  return ok;
}

Err flush_all(Window& win) {
  WEFT_TRY(check_passive(win));
  look(win);
  return ok;
}

Err sync(Window& win) {
  look(win);
  return ok;
}

}  // namespace weft::rma
