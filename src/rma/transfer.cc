// SPDX-License-Identifier: Apache-2.0
//
// Put and get, and what all operations ask first: is there an epoch, is the memory in the window?
// Memory of another process is copied by the kernel, piece by piece as both types say, without a
// packed form between.
#include <errno.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "base/clock.h"
#include "memory/peer.h"
#include "parallel/jobs.h"
#include "pt2pt/engine.h"
#include "rma/messages.h"
#include "rma/races.h"

namespace weft::rma {
namespace {

/// Bytes that `count` elements of `type` span, relative to where the first one is placed.
struct Span {
  std::int64_t begin, end;
};

/// False: more than 64 bits hold.
bool span_of(std::int64_t count, const Type& type, Span* out) {
  std::int64_t last;
  if (__builtin_mul_overflow(count - 1, type.extent, &last)) return false;
  std::int64_t end;
  if (__builtin_add_overflow(type.true_lb, std::min<std::int64_t>(last, 0), &out->begin) ||
      __builtin_add_overflow(type.true_lb + type.true_extent, std::max<std::int64_t>(last, 0),
                             &end))
    return false;
  out->end = end;
  return true;
}

Err out_of_window(const Place& place, const Extent& e, const char* what) {
  const char* type = datatype::predefined_name(*place.type);
  return fail(MPI_ERR_RMA_RANGE,
              "target_disp %lld (units of %lld bytes) and %lld elements of %s (%lld bytes each) "
              "leave the window of rank %d, which has %s",
              static_cast<long long>(place.disp), static_cast<long long>(e.unit),
              static_cast<long long>(place.count), type != nullptr ? type : "a derived type",
              static_cast<long long>(place.type->extent), place.rank, what);
}

Err out_of_window(const Place& place, const Extent& e) {
  char bytes[40];
  std::snprintf(bytes, sizeof bytes, "%lld bytes", static_cast<long long>(e.bytes));
  return out_of_window(place, e, bytes);
}

}  // namespace

bool is_attached(const Words& words, std::uint64_t begin, std::uint64_t end) {
  if (words.unlisted.load() > 0) return true;
  while (begin < end) {
    const auto holds = [begin](const Region& r) {
      return r.begin.load() <= begin && begin < r.end.load();
    };
    const auto at = std::find_if(std::begin(words.regions), std::end(words.regions), holds);
    if (at == std::end(words.regions)) return false;
    begin = at->end.load();
  }
  return true;
}

namespace {

/// `words`: of a member on this node; a dynamic window's on another one looks itself.
Err check_inside(const Window& win, const Place& place, const Words* words, std::int64_t* offset) {
  Span span{};
  const bool dynamic = win.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  const Extent t = win.extent(place.rank);
  if (__builtin_mul_overflow(place.disp, dynamic ? 1 : t.unit, offset) ||
      !span_of(place.count, *place.type, &span) ||
      __builtin_add_overflow(span.begin, *offset, &span.begin) ||
      __builtin_add_overflow(span.end, *offset, &span.end))
    return out_of_window(place, t);
  if (!dynamic) return span.begin >= 0 && span.end <= t.bytes ? ok : out_of_window(place, t);
  if (words == nullptr) return ok;
  return is_attached(*words, static_cast<std::uint64_t>(span.begin),
                     static_cast<std::uint64_t>(span.end))
             ? ok
             : out_of_window(place, t, "no memory attached there");
}

void trim(iovec* pieces, int* count, std::int64_t bytes) {
  int n = 0;
  for (; bytes > 0; ++n) {
    pieces[n].iov_len = std::min(pieces[n].iov_len, static_cast<std::size_t>(bytes));
    bytes -= static_cast<std::int64_t>(pieces[n].iov_len);
  }
  *count = n;
}

/// The kernel moves at most 2 GiB a call.
constexpr std::int64_t call_max = std::int64_t{1} << 30;

template <class Move>
Err by_kernel(const ConstBuffer& here, const ConstBuffer& there, std::int64_t bytes,
              const Target& target, Move move) {
  for (std::int64_t at = 0; at < bytes;) {
    iovec mine[kernel_pieces], theirs[kernel_pieces];
    std::int64_t n = 0, m = 0;
    int mine_count = datatype::runs(here, at, mine, kernel_pieces, &n);
    int theirs_count = datatype::runs(there, at, theirs, kernel_pieces, &m);
    const std::int64_t now = std::min({n, m, bytes - at, call_max});
    trim(mine, &mine_count, now);
    trim(theirs, &theirs_count, now);
    const std::int64_t done =
        move(target.pid, std::span<const iovec>(mine, static_cast<std::size_t>(mine_count)),
             std::span<const iovec>(theirs, static_cast<std::size_t>(theirs_count)));
    if (done <= 0) return kernel_failed(target);
    at += done;
  }
  return ok;
}

Err give_request(Window& win, MPI_Request* out) {
  *out = reinterpret_cast<MPI_Request>(static_cast<object::Request*>(win.engine().sent));
  return ok;
}

Err check_passive(Window& win, int rank) {
  return check_epoch(win, rank, true);
}

/// What can be known of a place without its target.
Err check_place(const Window& win, const Place& place) {
  if (!place.type->committed)
    return fail(MPI_ERR_TYPE, "target_datatype is not committed: call MPI_Type_commit first");
  if (place.disp < 0 && win.flavor != MPI_WIN_FLAVOR_DYNAMIC)
    return fail(MPI_ERR_DISP, "target_disp is %lld; expected 0 or more",
                static_cast<long long>(place.disp));
  return ok;
}

}  // namespace

Err truncated(std::int64_t sent, std::int64_t room, const char* from, const char* to) {
  return fail(MPI_ERR_TRUNCATE,
              "the %s's count and datatype are %lld bytes, but the %s's only %lld", from,
              static_cast<long long>(sent), to, static_cast<long long>(room));
}

Err reach_away(Window& win, const Place& place, bool passive, Pending* out) {
  WEFT_TRY(check_epoch(win, place.rank, passive));
  WEFT_TRY(check_place(win, place));
  std::int64_t offset = 0;
  if (place.count > 0 && place.type->size > 0) WEFT_TRY(check_inside(win, place, nullptr, &offset));
  out->win = &win;
  out->to = &win.away(place.rank);
  out->there = {reinterpret_cast<const void*>(far_base + static_cast<std::uint64_t>(offset)),
                place.count, place.type};
  lock_lazily(win, *out->to);
  return ok;
}

Err kernel_failed(const Target& target) {
  if (errno == EFAULT)
    return fail(
        MPI_ERR_RMA_RANGE,
        "memory of rank %d of MPI_COMM_WORLD (process %d) is not mapped there, or cannot be "
        "written",
        target.world_rank, target.pid);
  return fail(MPI_ERR_OTHER,
              "the kernel did not copy memory of rank %d of MPI_COMM_WORLD (process %d): %s",
              target.world_rank, target.pid, std::strerror(errno));
}

Err kernel_put(const ConstBuffer& from, const Reached& to, std::int64_t bytes) {
  const auto move = [](int pid, std::span<const iovec> mine, std::span<const iovec> theirs) {
    return memory::write_peer(pid, mine, theirs);
  };
  return by_kernel(from, to.buffer, bytes, *to.target, move);
}

Err kernel_get(const Buffer& to, const Reached& from, std::int64_t bytes) {
  const auto move = [](int pid, std::span<const iovec> mine, std::span<const iovec> theirs) {
    return memory::read_peer(pid, theirs, mine);
  };
  return by_kernel(to, from.buffer, bytes, *from.target, move);
}

Err reach(Window& win, const Place& place, Reached* out) {
  WEFT_TRY(check_epoch(win, place.rank, false));
  if (place.rank == MPI_PROC_NULL) return ok;
  WEFT_TRY(check_place(win, place));
  Target& t = *win.near(place.rank);
  std::int64_t offset = 0;
  if (place.count > 0 && place.type->size > 0) WEFT_TRY(check_inside(win, place, t.words, &offset));
  lock_lazily(win, t);
  out->target = &t;
  out->direct = t.here != nullptr || t.same_process;
  const std::uint64_t base =
      t.here != nullptr ? reinterpret_cast<std::uint64_t>(t.here) : t.address;
  out->buffer = {reinterpret_cast<void*>(base + static_cast<std::uint64_t>(offset)), place.count,
                 place.type};
  return ok;
}

bool HelpTrials::is_faster_alone(std::int64_t bytes) {
  // acquire and release: what the thread before has noted
  if (taken_.test_and_set(std::memory_order_acquire)) return false;
  const bool alone = trials_.of(bytes).next(bytes, now_ns);
  taken_.clear(std::memory_order_release);
  return alone;
}

namespace {

void copy(const ConstBuffer& from, const Buffer& to, std::int64_t bytes, HelpTrials& trials) {
  if (bytes > straight_bytes && !parallel::jobs().is_forced() && trials.is_faster_alone(bytes))
    datatype::copy_alone(from, to, bytes);
  else
    datatype::copy(from, to, bytes);
}

}  // namespace

Err put(const ConstBuffer& from, const Place& to, Window& win) {
  count(win, &Counters::rma_puts);
  if (!win.is_simple) [[unlikely]] {
    WEFT_TRY(watch(win, {.does = Does::put, .type = to.type}, to));
    if (is_away(win, to.rank)) return put_away(from, to, win, nullptr);
  }
  Reached there;
  WEFT_TRY(reach(win, to, &there));
  if (there.target == nullptr) return ok;
  const std::int64_t bytes = from.bytes(), room = there.buffer.bytes();
  if (bytes > room) return truncated(bytes, room, "origin", "target");
  win.note_stores();
  if (!there.direct) return kernel_put(from, there, bytes);
  if (is_word(bytes) && from.type->dense && to.type->dense)
    store(datatype::block(there.buffer), datatype::block(from), bytes);
  else if (from.data != there.buffer.data || from.type != to.type)
    copy(from, there.buffer, bytes, win.puts);
  return ok;
}

namespace {

/// Of a get with a request a comparison of accesses knows nothing once it has begun: it is over
/// when the program says so.
Err get_any(const Buffer& to, const Place& from, Window& win, MPI_Request* out) {
  count(win, &Counters::rma_gets);
  if (!win.is_simple) [[unlikely]] {
    WEFT_TRY(watch(win,
                   {.does = Does::get,
                    .type = from.type,
                    .is_kept = out == nullptr,
                    .passive = out != nullptr},
                   from));
    if (is_away(win, from.rank)) return get_away(to, from, win, out);
  }
  Reached there;
  WEFT_TRY(reach(win, from, &there));
  if (there.target == nullptr) return ok;
  const std::int64_t bytes = there.buffer.bytes(), room = to.bytes();
  if (bytes > room) return truncated(bytes, room, "target", "origin");
  if (!there.direct) return kernel_get(to, there, bytes);
  if (to.data != there.buffer.data || to.type != from.type) copy(there.buffer, to, bytes, win.gets);
  return ok;
}

}  // namespace

Err get(const Buffer& to, const Place& from, Window& win) {
  return get_any(to, from, win, nullptr);
}

Err rput(const ConstBuffer& from, const Place& to, Window& win, MPI_Request* out) {
  if (is_away(win, to.rank)) {
    WEFT_TRY(watch(win, {.does = Does::put, .type = to.type, .passive = true}, to));
    return put_away(from, to, win, out);
  }
  WEFT_TRY(check_passive(win, to.rank));
  WEFT_TRY(put(from, to, win));
  return give_request(win, out);
}

Err rget(const Buffer& to, const Place& from, Window& win, MPI_Request* out) {
  if (is_away(win, from.rank)) return get_any(to, from, win, out);
  WEFT_TRY(check_passive(win, from.rank));
  WEFT_TRY(get_any(to, from, win, out));
  return give_request(win, out);
}

Err raccumulate(const ConstBuffer& from, const Place& to, const object::Op& op, Window& win,
                MPI_Request* out) {
  if (is_away(win, to.rank)) return accumulate(from, to, op, win, out);
  WEFT_TRY(check_passive(win, to.rank));
  WEFT_TRY(accumulate(from, to, op, win));
  return give_request(win, out);
}

Err rget_accumulate(const ConstBuffer& from, const Buffer& result, const Place& to,
                    const object::Op& op, Window& win, MPI_Request* out) {
  if (is_away(win, to.rank)) return get_accumulate(from, result, to, op, win, out);
  WEFT_TRY(check_passive(win, to.rank));
  WEFT_TRY(get_accumulate(from, result, to, op, win, out));
  return give_request(win, out);
}

}  // namespace weft::rma
