// SPDX-License-Identifier: Apache-2.0
//
// The book of a target: what is written into it, what does not go together, and what is said then.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/params.h"
#include "hang/site.h"
#include "pt2pt/completion.h"
#include "rma/messages.h"
#include "rma/races.h"
#include "sync/wait.h"

namespace weft::rma {
namespace {

using Epoch = Window::Epoch;

class Open {
 public:
  explicit Open(Book& book) : held_(book.held) {
    for (int looks = 0; held_.exchange(1) != 0;)
      if (++looks % lock_looks == 0)
        weft::sync::yield();
      else
        weft::sync::pause();
  }
  ~Open() { held_.store(0); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  std::atomic<std::uint32_t>& held_;
};

bool by_locks(Epoch e) {
  return e == Epoch::locks || e == Epoch::lock_all;
}

/// Is it of an epoch that may still be open?
bool is_live(const Book& book, const Note& n, std::uint32_t fences) {
  if (n.does == Does::nothing) return false;
  if (n.epoch == Epoch::fence) return n.fences == fences;
  if (n.epoch == Epoch::started) return book.exposed && n.exposure == book.exposure;
  return true;
}

bool overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

/// May two origins do both to the same bytes at once?
bool go_together(const Note& a, const Note& b) {
  if (a.reads_only && b.reads_only) return true;
  return a.does == Does::accumulate && b.does == Does::accumulate && a.basic == b.basic;
}

bool are_of_one_kind(const Note& a, const Note& b) {
  return by_locks(a.epoch) == by_locks(b.epoch) &&
         (a.epoch == Epoch::started) == (b.epoch == Epoch::started);
}

bool says_no_put(const Book& book, const Note& n) {
  if (n.reads_only) return false;
  if (n.epoch == Epoch::started) return book.exposed && book.no_put;
  return n.epoch == Epoch::fence && book.fence_no_put && book.no_put_fence == n.fences;
}

bool joins(Note& known, const Note& mine, const Range& range) {
  if (known.origin != mine.origin || known.does != mine.does || known.site != mine.site ||
      known.pid != mine.pid || known.basic != mine.basic || known.epoch != mine.epoch ||
      known.reads_only != mine.reads_only || known.brings != mine.brings ||
      range.begin > known.range.end || range.end < known.range.begin)
    return false;
  known.range = {std::min(known.range.begin, range.begin), std::max(known.range.end, range.end)};
  return true;
}

std::span<Note> notes_of(Book& book) {
  return {book.notes, book.used};
}

/// In place of one that is over, or of the oldest.
void write_down(Book& book, const Note& mine, const Range& range) {
  Note* at = nullptr;
  if (book.used < compared_notes) {
    at = &book.notes[book.used++];
  } else {
    at = &book.notes[book.next++ % compared_notes];
  }
  *at = mine;
  at->range = range;
}

/// Keep those that may still be of an epoch.
void tidy(Book& book, std::uint32_t fences) {
  std::uint32_t kept = 0;
  for (Note& n : notes_of(book)) {
    if (!is_live(book, n, fences)) continue;
    if (&book.notes[kept] != &n) book.notes[kept] = n;
    ++kept;
  }
  book.used = kept;
}

Range hull_of(const Visit& visit) {
  Range all = visit.range[0];
  for (std::uint32_t i = 1; i < visit.ranges; ++i)
    all = {std::min(all.begin, visit.range[i].begin), std::max(all.end, visit.range[i].end)};
  return all;
}

/// What is wrong with an access, if anything; it is written down if nothing is.
Answer enter(Book& book, Visit& visit) {
  Note& mine = visit.note;
  const Open open(book);
  mine.exposure = book.exposure;
  if (by_locks(mine.epoch) && book.exposed)
    return {.wrong = Wrong::exposed, .range = {}, .other = {}};
  if (says_no_put(book, mine)) return {.wrong = Wrong::not_posted_so, .range = {}, .other = {}};
  if (book.used == compared_notes) tidy(book, mine.fences);
  const Range hull = hull_of(visit);
  bool is_known = false;
  for (Note& n : notes_of(book)) {
    if (n.origin == mine.origin) {
      is_known |= visit.ranges == 1 && is_live(book, n, mine.fences) && joins(n, mine, hull);
      continue;
    }
    if (!is_live(book, n, mine.fences)) continue;
    if (!are_of_one_kind(n, mine)) return {.wrong = Wrong::epochs, .range = {}, .other = n};
    if (go_together(n, mine) || !overlap(n.range, hull)) continue;
    for (std::uint32_t i = 0; i < visit.ranges; ++i)
      if (overlap(n.range, visit.range[i]))
        return {.wrong = Wrong::overlap,
                .range = {std::max(n.range.begin, visit.range[i].begin),
                          std::min(n.range.end, visit.range[i].end)},
                .other = n};
  }
  for (std::uint32_t i = 0; visit.is_kept && !is_known && i < visit.ranges; ++i)
    write_down(book, mine, visit.range[i]);
  return {};
}

void take_out(Book& book, int origin, Forget which) {
  const Open open(book);
  bool any = false;
  for (Note& n : notes_of(book)) {
    if (n.origin == origin && by_locks(n.epoch) && (which == Forget::all || n.brings))
      n.does = Does::nothing;
    any |= n.does != Does::nothing;
  }
  if (!any) book.used = 0;
}

// --- what an origin asks on another node

/// On the stack of who waits; the answer names it.
struct Asking {
  bool answered = false;
  Answer answer{};
};

template <class T>
Answer ask(Window& win, Remote& r, Kind kind, const T* what, std::size_t bytes, Forget which) {
  Asking asking;
  send(win, r.world_rank,
       {.kind = kind,
        .number = static_cast<std::uint64_t>(which),
        .cookie = reinterpret_cast<std::uint64_t>(&asking)},
       {reinterpret_cast<const std::byte*>(what), bytes});
  char call[hang::call_bytes];
  std::snprintf(call, sizeof call, "comparison of accesses by %d", r.rank);
  const pt2pt::About about{.what = hang::What::window,
                           .comm = &win.comm,
                           .rank = MPI_ANY_SOURCE,
                           .window = win.name.c_str(),
                           .window_call = call};
  pt2pt::wait_until(win.engine(), [&] { return asking.answered; },
                    {.one_is_enough = true, .about = &about});
  return asking.answer;
}

constexpr std::size_t bytes_of(const Visit& v) {
  return offsetof(Visit, range) + v.ranges * sizeof(Range);
}

// --- what is said

std::string where(Window& win, const Note& n, int origin) {
  if (win.near(origin) == nullptr || n.site == 0) return n.where;
  // At the end of a job: it may start a process to find the line.
  std::string found = hang::Symbols(hang::programs_of(n.pid), true)(n.pid, n.site);
  return found.empty() ? n.where : found;
}

std::string sentence_about(Window& win, const Note& n) {
  char text[120];
  std::snprintf(text, sizeof text, "%s by rank %d", n.call[0] != 0 ? n.call : "an operation",
                n.origin);
  const std::string place = where(win, n, n.origin);
  return place.empty() ? text : text + (", called in " + place);
}

const char* words_for(Epoch e) {
  switch (e) {
    case Epoch::fence:
      return "an epoch of MPI_Win_fence";
    case Epoch::started:
      return "an epoch of MPI_Win_start";
    case Epoch::locks:
      return "an epoch of MPI_Win_lock";
    case Epoch::lock_all:
      return "an epoch of MPI_Win_lock_all";
    default:
      return "no epoch";
  }
}

std::string window_text(const Window& win) {
  return win.name.empty() ? "the window" : "window " + win.name;
}

Err say(Window& win, const Note& mine, int target, const Answer& a) {
  if (a.wrong == Wrong::nothing) return ok;
  const std::string own = sentence_about(win, mine);
  switch (a.wrong) {
    case Wrong::nothing:
      return ok;
    case Wrong::overlap:
      return fail(MPI_ERR_RMA_CONFLICT,
                  "%s, and %s, both access bytes %lld to %lld of rank %d's part of %s in %s, and "
                  "nothing orders them, so the result is undefined: separate them by "
                  "synchronization, or let both accumulate elements of the same type",
                  own.c_str(), sentence_about(win, a.other).c_str(),
                  static_cast<long long>(a.range.begin), static_cast<long long>(a.range.end - 1),
                  target, window_text(win).c_str(), words_for(mine.epoch));
    case Wrong::epochs:
      return fail(MPI_ERR_RMA_CONFLICT,
                  "%s, accesses rank %d's part of %s in %s while %s, does so in %s; the two kinds "
                  "of epoch must not overlap",
                  own.c_str(), target, window_text(win).c_str(), words_for(mine.epoch),
                  sentence_about(win, a.other).c_str(), words_for(a.other.epoch));
    case Wrong::exposed:
      return fail(MPI_ERR_RMA_CONFLICT,
                  "%s, accesses rank %d's part of %s in %s, while rank %d has exposed it by "
                  "MPI_Win_post and has not ended that by MPI_Win_wait",
                  own.c_str(), target, window_text(win).c_str(), words_for(mine.epoch), target);
    case Wrong::not_posted_so:
      return fail(MPI_ERR_RMA_CONFLICT,
                  "%s, writes to rank %d's part of %s, but rank %d has said by MPI_MODE_NOPUT that "
                  "nobody does so in this epoch",
                  own.c_str(), target, window_text(win).c_str(), target);
  }
  return ok;
}

std::string name_of_site(Sites& sites, std::uint64_t site) {
  const std::lock_guard guard(sites.mutex);
  return sites.symbols(getpid(), site);
}

Note note_of(Window& win, const Doing& doing) {
  Note n;
  n.does = doing.does;
  n.epoch = win.epoch;
  n.basic = doing.type->basic;
  n.reads_only = doing.does == Does::get || doing.operation == datatype::Operation::no_op;
  n.brings = doing.does == Does::get || doing.brings;
  n.origin = win.me();
  n.pid = getpid();
  n.fences = win.fences;
  const hang::Site site = hang::find_site();
  n.site = site.returns_to;
  std::snprintf(n.call, sizeof n.call, "%s", site.call);
  std::snprintf(n.where, sizeof n.where, "%s", name_of_site(*win.sites, site.returns_to).c_str());
  return n;
}

/// The bytes of `there`, counted from `base`. False: they are too many pieces.
bool list_ranges(const ConstBuffer& there, std::uint64_t base, Visit* v) {
  const std::int64_t total = there.bytes();
  std::int64_t at = 0;
  while (at < total) {
    iovec pieces[compared_ranges];
    std::int64_t bytes = 0;
    const int n = datatype::runs(there, at, pieces, compared_ranges, &bytes);
    if (n <= 0 || bytes <= 0 || v->ranges + static_cast<std::uint32_t>(n) > compared_ranges)
      return false;
    for (int i = 0; i < n; ++i) {
      const auto begin =
          static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(pieces[i].iov_base) - base);
      v->range[v->ranges++] = {begin, begin + static_cast<std::int64_t>(pieces[i].iov_len)};
    }
    at += bytes;
  }
  return true;
}

Err compare_near(Window& win, const Doing& doing, const Place& place) {
  Reached to;
  WEFT_TRY(reach(win, place, &to));
  if (place.count == 0 || place.type->size == 0) return ok;
  const Target& t = *to.target;
  const std::uint64_t base = win.flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0
                             : t.here != nullptr ? reinterpret_cast<std::uint64_t>(t.here)
                                                 : t.address;
  Visit visit;
  visit.note = note_of(win, doing);
  visit.is_kept = doing.is_kept;
  if (!list_ranges(to.buffer, base, &visit)) return ok;
  return say(win, visit.note, place.rank, enter(*t.book, visit));
}

Err compare_away(Window& win, const Doing& doing, const Place& place) {
  const pt2pt::Inside inside(win.engine());
  Pending p;
  WEFT_TRY(reach_away(win, place, doing.passive, &p));
  if (place.count == 0 || place.type->size == 0) return ok;
  Visit visit;
  visit.note = note_of(win, doing);
  visit.is_kept = doing.is_kept;
  if (!list_ranges(p.there, far_base, &visit)) return ok;
  p.to->visited = true;
  return say(win, visit.note, place.rank,
             ask(win, *p.to, Kind::visit, &visit, bytes_of(visit), Forget::all));
}

}  // namespace

Sites::Sites() : symbols(hang::programs_of(getpid()), false) {}

bool are_compared(const pt2pt::Engine& e) {
  return e.params->integer(P::abi_check) == 2;
}

Err watch(Window& win, const Doing& doing, const Place& place) {
  if (Trace* const trace = win.engine().trace.get(); trace != nullptr) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(place.count, place.type->size, &bytes)) bytes = 0;
    trace->note({trace->keep(win.name), place.rank, bytes});
  }
  if (!win.is_compared || place.rank == MPI_PROC_NULL) return ok;
  return is_away(win, place.rank) ? compare_away(win, doing, place)
                                  : compare_near(win, doing, place);
}

void forget(Window& win, int rank, Forget which) {
  if (!win.is_compared || rank == MPI_PROC_NULL) return;
  if (Target* const t = win.near(rank)) return take_out(*t->book, win.me(), which);
  Remote& r = win.away(rank);
  if (!r.visited) return;
  if (which == Forget::all) r.visited = false;
  ask(win, r, Kind::forget, "", 0, which);
}

void forget_all(Window& win, Forget which) {
  if (!win.is_compared) return;
  for (Target& t : win.targets) take_out(*t.book, win.me(), which);
  std::vector<int> visited;  // a wait may add members
  for (const auto& [rank, remote] : win.remotes)
    if (remote.visited) visited.push_back(rank);
  for (const int rank : visited) forget(win, rank, which);
}

// --- synchronization

void note_fence(Window& win, int assert) {
  Book& mine = *win.mine().book;
  const std::uint32_t number = win.fences + 1;
  mine.fence_says[number % 2].store(assert);
  {
    const Open open(mine);
    mine.fence_no_put = (assert& MPI_MODE_NOPUT) != 0;
    mine.no_put_fence = number;
  }
  mine.fences.store(number);
}

Err check_fence(Window& win, int assert) {
  const std::uint32_t number = ++win.fences;
  constexpr int common = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  // A member that is ahead is so by one fence.
  for (Target& t : win.targets) {
    const int says = t.book->fence_says[number % 2].load();
    if (((says ^ assert) & common) == 0) continue;
    return fail(MPI_ERR_RMA_SYNC,
                "rank %d of %s passes other assertions about what precedes and succeeds "
                "(MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED) than this rank; all must pass the same",
                t.rank, window_text(win).c_str());
  }
  return ok;
}

Err check_posts(Window& win, const char* call) {
  for (Target& t : win.targets) {
    const std::uint32_t posted = win.mine().posted[&t - win.targets.data()].load();
    if (posted == t.posts_seen) continue;
    return fail(MPI_ERR_RMA_SYNC,
                "rank %d of %s has posted for this rank (MPI_Win_post), which has not called "
                "MPI_Win_start for it: their groups do not fit; rank %d waits for that, so it "
                "cannot come to %s",
                t.rank, window_text(win).c_str(), t.rank, call);
  }
  for (const auto& [rank, r] : win.remotes) {
    if (r.posts == r.posts_seen) continue;
    return fail(MPI_ERR_RMA_SYNC,
                "rank %d of %s has posted for this rank (MPI_Win_post), which has not called "
                "MPI_Win_start for it: their groups do not fit; rank %d waits for that, so it "
                "cannot come to %s",
                rank, window_text(win).c_str(), rank, call);
  }
  Book& mine = *win.mine().book;
  if (mine.awaited.load() == 0) return ok;
  const int by = static_cast<int>(mine.awaited_by.load());
  return fail(MPI_ERR_RMA_SYNC,
              "rank %d of %s waits in MPI_Win_start for this rank, which has not posted for it "
              "(MPI_Win_post): their groups do not fit; so rank %d cannot come to %s",
              by, window_text(win).c_str(), by, call);
}

void note_post(Window& win, int assert) {
  Book& mine = *win.mine().book;
  const Open open(mine);
  ++mine.exposure;
  mine.exposed = true;
  mine.no_put = (assert& MPI_MODE_NOPUT) != 0;
}

void note_wait(Window& win) {
  Book& mine = *win.mine().book;
  const Open open(mine);
  mine.exposed = false;
}

Err begin_await_post(Window& win, Target& target, int assert) {
  if ((assert& MPI_MODE_NOCHECK) != 0)
    return fail(MPI_ERR_RMA_SYNC,
                "assert has MPI_MODE_NOCHECK, but rank %d of %s has not called MPI_Win_post for "
                "this rank yet",
                target.rank, window_text(win).c_str());
  Book& its = *target.book;
  its.awaited_by.store(static_cast<std::uint32_t>(win.me()));
  its.awaited.fetch_add(1);
  // Either this look finds it in the fence, or it finds this rank waiting (check_posts).
  if (static_cast<std::int32_t>(its.fences.load() - win.fences) <= 0) return ok;
  its.awaited.fetch_sub(1);
  return fail(MPI_ERR_RMA_SYNC,
              "rank %d of %s is in MPI_Win_fence, and has not posted for this rank (MPI_Win_post): "
              "the groups of the two ranks do not fit",
              target.rank, window_text(win).c_str());
}

void end_await_post(Window&, Target& target) {
  target.book->awaited.fetch_sub(1);
}

Err check_unchecked_lock(Window& win, int rank) {
  const Target* t = win.near(rank);
  if (t == nullptr) return ok;
  // relaxed: it holds it for longer than this takes, or it was not wrong this time
  const std::uint32_t holder = t->words->holder.load(std::memory_order_relaxed);
  if (holder == 0 || static_cast<int>(holder) - 1 == win.me()) return ok;
  return fail(MPI_ERR_RMA_CONFLICT,
              "assert has MPI_MODE_NOCHECK, but rank %u holds the lock of rank %d's part of %s "
              "alone",
              holder - 1, rank, window_text(win).c_str());
}

// --- answers

void serve_visit(Window& win, const wire::Cell& cell) {
  Visit visit;
  std::memcpy(static_cast<void*>(&visit), &cell + 1,
              std::min<std::size_t>(cell.piece, sizeof visit));
  const Answer answer = enter(*win.mine().book, visit);
  send(win, static_cast<std::int32_t>(cell.sender), {.kind = Kind::seen, .cookie = cell.cookie},
       std::as_bytes(std::span(&answer, 1)), Order::urgent);
}

void serve_forget(Window& win, const wire::Cell& cell) {
  take_out(*win.mine().book, cell.envelope.source, static_cast<Forget>(cell.bytes));
  const Answer answer;
  send(win, static_cast<std::int32_t>(cell.sender), {.kind = Kind::seen, .cookie = cell.cookie},
       std::as_bytes(std::span(&answer, 1)), Order::urgent);
}

void take_seen(const wire::Cell& cell) {
  auto& asking = *reinterpret_cast<Asking*>(cell.cookie);
  std::memcpy(static_cast<void*>(&asking.answer), &cell + 1, sizeof asking.answer);
  asking.answered = true;
}

}  // namespace weft::rma
