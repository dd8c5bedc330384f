// SPDX-License-Identifier: Apache-2.0
//
// Accumulation. Each element is changed as one, whoever else accumulates there: by the processor
// (element.h), or while the origin holds the target's word `accumulates`. Which of the two it is
// depends on the window, the type and the address alone, so all origins do the same. The word is
// held for some kilobytes at a time, for as long as copying them takes, and nobody waits under it.
//
// Many elements in a row are changed without the processor's atomic instructions, some ns each, by
// whoever holds the target's word and has made sure that nobody changes one meanwhile: it says
// `in_bulk` at the target, and waits until no member is `changing` any. Those say so and then look;
// store and load of both sides must not change places, and the few use no fence: the one with many
// runs one on every thread (membarrier), as a sleeper does (sync/wait.h). It stays so, so that the
// next one with many need not ask again, until one with few takes it back, while it holds the word.
// Which of the two a row takes is a guess about what follows (pays_in_bulk): either is right.
#include <algorithm>
#include <cstring>

#include "memory/peer.h"
#include "object/op.h"
#include "rma/element.h"
#include "rma/messages.h"
#include "rma/races.h"
#include "sync/backoff.h"
#include "sync/wait.h"

namespace weft::rma {
namespace {

using datatype::data_bytes;
using datatype::span_of;
using datatype::stride_of;

/// Nobody waits for the word but by looks at it, so no wake-up can be lost, and it is given back by
/// a plain store. Then what is loaded next may be older than what was changed: a flush has a fence
/// for that, as after a put.
class Alone {
 public:
  Alone(Window& win, Words& words) : win_(win), word_(words.accumulates) {
    for (int looks = 0; word_.load() != 0 || word_.exchange(1) != 0;)
      if (++looks % lock_looks == 0)
        weft::sync::yield();
      else
        weft::sync::pause();
  }
  ~Alone() {
    // release: what was changed; pairs with the exchange of the next one
    word_.store(0, std::memory_order_release);
    win_.note_stores();
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Window& win_;
  std::atomic<std::uint32_t>& word_;
};

/// A thread that changes elements by atomic instructions.
class Changing {
 public:
  [[gnu::always_inline]] Changing(Window& win, Words& target) : mine_(win.mine().words->changing) {
    const pt2pt::Engine& e = win.engine();
    shares_ = e.among_threads || e.contexts->has_background;
    while (!begin(target)) [[unlikely]]
      take_back(win, target);
  }
  ~Changing() { add(-1); }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  bool begin(const Words& target) {
    add(1);
    // The compiler must not change their places; the other side's membarrier keeps the processor
    // from doing so. acquire: pairs with the store below
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return target.in_bulk.load(std::memory_order_acquire) == 0;
  }
  [[gnu::noinline]] void take_back(Window& win, Words& target) {
    add(-1);
    const Alone alone(win, target);
    target.in_bulk.store(0, std::memory_order_release);
  }
  /// release: what was changed before; pairs with Bulk()
  void add(int n) {
    const auto by = static_cast<std::uint32_t>(n);
    if (shares_)
      mine_.fetch_add(by, std::memory_order_release);
    else
      mine_.store(mine_.load(std::memory_order_relaxed) + by, std::memory_order_release);
  }
  std::atomic<std::uint32_t>& mine_;
  bool shares_ = false;  // with other threads of this rank
};

/// The only thread that changes elements of a target.
class Bulk {
 public:
  Bulk(Window& win, Words& target) : alone_(win, target) {
    // relaxed: it changes under the word only
    if (target.in_bulk.load(std::memory_order_relaxed) != 0) return;
    target.in_bulk.store(1, std::memory_order_seq_cst);
    if (std::ranges::all_of(win.targets, &Target::same_process))
      weft::sync::fence_here();
    else
      weft::sync::fence_for_sure();
    int looks = 0;
    for (const Target& member : win.targets)
      // acquire: pairs with Changing::add()
      while (member.words->changing.load(std::memory_order_acquire) != 0)
        if (++looks % lock_looks == 0)
          weft::sync::yield();
        else
          weft::sync::pause();
  }

 private:
  const Alone alone_;
};

}  // namespace

Stretch stretch(const ConstBuffer& b, Basic basic, std::int64_t total, std::int64_t k) {
  const std::int64_t data = data_bytes(basic);
  auto* base = static_cast<std::byte*>(const_cast<void*>(b.data));
  if (b.type->predefined) return {base + k * b.type->extent, total - k};
  if (b.type->dense) return {base + b.type->true_lb + k * data, total - k};
  iovec piece{};
  std::int64_t bytes = 0;
  datatype::runs(b, k * data, &piece, 1, &bytes);
  // A pair with a gap is not one piece, or not as long as the distance to the next.
  const bool gap = data != stride_of(basic);
  return {static_cast<std::byte*>(piece.iov_base), gap ? 1 : bytes / data};
}

namespace {

struct What {
  Operation op;
  Basic basic;
  std::int64_t stride = stride_of(basic);
  /// Bytes from the first to the last of n elements.
  std::size_t bytes(std::int64_t n) const {
    return static_cast<std::size_t>((n - 1) * stride + span_of(basic));
  }
  /// As the distance of elements is.
  bool is_aligned(const void* at) const {
    const auto mask = static_cast<std::uintptr_t>((stride & -stride) - 1);
    return (reinterpret_cast<std::uintptr_t>(at) & mask) == 0;
  }
};

/// Of at most locked_bytes.
[[gnu::noinline]] void reduce_unaligned(const What& what, void* target, const void* in,
                                        std::int64_t n) {
  alignas(64) std::byte left[locked_bytes + 64], right[locked_bytes + 64];
  std::memcpy(left, in, what.bytes(n));
  std::memcpy(right, target, what.bytes(n));
  datatype::reduce(what.op, what.basic, left, right, n);
  std::memcpy(target, right, what.bytes(n));
}

/// In memory that nobody else accumulates in meanwhile; of at most locked_bytes, or aligned.
[[gnu::always_inline]] inline void change(const What& what, void* target, const void* in, void* out,
                                          std::int64_t n) {
  if (out != nullptr) std::memcpy(out, target, what.bytes(n));
  if (what.op == Operation::replace)
    std::memcpy(target, in, what.bytes(n));
  else if (what.op != Operation::no_op && what.is_aligned(target) && what.is_aligned(in))
    datatype::reduce(what.op, what.basic, in, target, n);
  else if (what.op != Operation::no_op)
    reduce_unaligned(what, target, in, n);
}

/// The same in another process.
Err change_there(const What& what, const Target& target, std::uint64_t at, const void* in,
                 void* out, std::int64_t n) {
  alignas(64) std::byte room[locked_bytes + 64];
  const std::size_t bytes = what.bytes(n);
  const bool has_gaps = data_bytes(what.basic) != what.stride;
  if (what.op != Operation::replace || out != nullptr || has_gaps)
    if (!memory::read_peer(target.pid, at, room, bytes)) return kernel_failed(target);
  change(what, room, in, out, n);
  if (what.op == Operation::no_op) return ok;
  return memory::write_peer(target.pid, room, at, bytes) ? ok : kernel_failed(target);
}

Err change_alone(Window& win, const What& what, const Reached& to, std::byte* target,
                 const std::byte* in, std::byte* out, std::int64_t n) {
  const std::int64_t stride = what.stride;
  const std::int64_t most = std::max<std::int64_t>(1, locked_bytes / stride);
  for (std::int64_t i = 0; i < n; i += most) {
    const std::int64_t now = std::min(most, n - i);
    const std::byte* const from = in != nullptr ? in + i * stride : nullptr;
    std::byte* const result = out != nullptr ? out + i * stride : nullptr;
    const Alone alone(win, *to.target->words);
    if (to.direct)
      change(what, target + i * stride, from, result, now);
    else
      WEFT_TRY(change_there(what, *to.target, reinterpret_cast<std::uint64_t>(target + i * stride),
                            from, result, now));
  }
  return ok;
}

/// Of elements that the processor can change one by one. It pays at once where it is so already;
/// else as soon as what has gone one by one has cost as much as the way to change that: so never
/// more than twice of what it would have cost to know before (four times between processes).
bool pays_in_bulk(Window& win, const What& what, Target& target, const std::byte* in,
                  std::int64_t n) {
  const std::int64_t bytes = n * what.stride;
  if (bytes < row_bytes || what.op == Operation::no_op || !what.is_aligned(in) ||
      !win.engine().policy.membarrier)
    return false;
  if (target.words->in_bulk.load(std::memory_order_relaxed) != 0) return true;
  const std::atomic_ref one_by_one(target.one_by_one);
  const std::int64_t so_far = one_by_one.load(std::memory_order_relaxed) + bytes;
  const bool pays = so_far >= bulk_bytes;
  one_by_one.store(pays ? 0 : so_far, std::memory_order_relaxed);
  return pays;
}

void change_in_bulk(Window& win, const What& what, Words& words, std::byte* target,
                    const std::byte* in, std::byte* out, std::int64_t n) {
  while (n * what.stride > bulk_at_once_bytes) {
    const std::int64_t now = bulk_at_once_bytes / what.stride;  // without a rest, of all strides
    const Bulk bulk(win, words);
    change(what, target, in, out, now);
    n -= now;
    target += bulk_at_once_bytes;
    in += bulk_at_once_bytes;
    if (out != nullptr) out += bulk_at_once_bytes;
  }
  const Bulk bulk(win, words);
  change(what, target, in, out, n);
}

void change_at_once(Window& win, const What& what, Target& target, const Elements& e) {
  const auto* in = static_cast<const std::byte*>(e.in);
  if (pays_in_bulk(win, what, target, in, e.n))
    return change_in_bulk(win, what, *target.words, static_cast<std::byte*>(e.target), in,
                          static_cast<std::byte*>(e.out), e.n);
  const Changing changing(win, *target.words);
  accumulate_at_once(what.op, what.basic, e);
}

Err change_any(Window& win, const What& what, const Reached& to, std::byte* target,
               const std::byte* in, std::byte* out, std::int64_t n) {
  // Bytes that are read or replaced are what programs make of larger things: they are moved as one.
  // That goes with what the processor does to single ones.
  const bool as_one =
      n > 1 && data_bytes(what.basic) == 1 &&
      (what.op == Operation::no_op || (what.op == Operation::replace && out == nullptr));
  if (!win.direct || as_one || !is_changed_at_once(what.basic, target))
    return change_alone(win, what, to, target, in, out, n);
  change_at_once(win, what, *to.target, {target, in, out, n});
  return ok;
}

}  // namespace

void change_numbers(Window& win, Target& target, Operation op, const Type& type,
                    const Elements& e) {
  if (e.n > 1) return change_at_once(win, {op, type.basic, type.size}, target, e);
  const Changing changing(win, *target.words);
  change_number(op, type.basic, e);
}

namespace {

/// The one basic type of an argument.
Err basic_of(const Type& type, const char* name, Basic* out) {
  *out = type.basic;
  if (type.basic != Basic::none) return ok;
  return fail(MPI_ERR_TYPE,
              "%s is made of different basic types; accumulation takes types that are all of one",
              name);
}

Err check_same(const Type& other, Basic basic, const char* name) {
  Basic its;
  WEFT_TRY(basic_of(other, name, &its));
  if (its == basic) return ok;
  return fail(MPI_ERR_TYPE, "%s and target_datatype are made of different basic types", name);
}

Err check_operation(const object::Op& op, const Type& type, std::int64_t count) {
  if (op.operation == Operation::user)
    return fail(MPI_ERR_OP,
                "op is an operation of the program's own; accumulation takes predefined ones only");
  if (count == 0 || datatype::is_defined(op.operation, type.basic)) return ok;
  const char* name = datatype::predefined_name(type);
  return fail(MPI_ERR_OP, "%s is not defined for %s (see MPI-5.0 section 6.9.2)",
              object::name_of(op.operation),
              name != nullptr ? name : "the basic type of the target");
}

}  // namespace

Err check_lengths(const Accumulation& what, std::int64_t room, std::int64_t* elements) {
  const bool takes = what.from.type != nullptr, brings = what.result.type != nullptr;
  const std::int64_t bytes = takes ? what.from.bytes() : room;
  if (bytes > room || (brings && what.result.bytes() < bytes))
    return fail(MPI_ERR_TRUNCATE,
                "the origin has %lld bytes of data, the target %lld%s: their counts and datatypes "
                "must say the same",
                static_cast<long long>(bytes), static_cast<long long>(room),
                brings ? ", the result fewer" : "");
  *elements = bytes / data_bytes(what.basic);
  return ok;
}

void change_own(Window& win, Operation operation, Basic basic, std::byte* target,
                const std::byte* in, std::byte* out, std::int64_t n) {
  Reached mine;
  mine.target = &win.mine();
  mine.direct = true;
  // Cannot fail: the memory is this process's.
  static_cast<void>(change_any(win, {operation, basic}, mine, target, in, out, n));
}

namespace {

/// Then the types may be anything.
bool has_no_data(const Place& place, const ConstBuffer* from) {
  return (place.count == 0 || place.type->size == 0) && (from == nullptr || from->bytes() == 0);
}

/// `from` or `result` may have no data.
Err run(const ConstBuffer* from, const Buffer* result, const Place& place, const object::Op& op,
        Window& win, MPI_Request* away) {
  count(win, &Counters::rma_accumulates);
  if (place.rank == MPI_PROC_NULL) return check_epoch(win, place.rank, false);
  if (has_no_data(place, from)) {
    if (away != nullptr) *away = pt2pt::handle_of(win.engine().sent);
    return check_epoch(win, place.rank, away != nullptr);
  }
  Basic basic = Basic::none;
  WEFT_TRY(basic_of(*place.type, "target_datatype", &basic));
  WEFT_TRY(check_operation(op, *place.type, place.count));
  if (from != nullptr) WEFT_TRY(check_same(*from->type, basic, "origin_datatype"));
  if (result != nullptr) WEFT_TRY(check_same(*result->type, basic, "result_datatype"));
  Accumulation all{op.operation, basic, {}, {}};
  if (from != nullptr) all.from = *from;
  if (result != nullptr) all.result = *result;
  if (!win.is_simple) [[unlikely]] {
    WEFT_TRY(watch(win,
                   {.does = Does::accumulate,
                    .type = place.type,
                    .operation = op.operation,
                    .brings = result != nullptr,
                    .is_kept = away == nullptr || result == nullptr,
                    .passive = away != nullptr},
                   place));
    if (is_away(win, place.rank)) return accumulate_away(all, place, win, away);
  }
  Reached to;
  WEFT_TRY(reach(win, place, &to));
  std::int64_t n = 0;
  WEFT_TRY(check_lengths(all, to.buffer.bytes(), &n));
  const What what{op.operation, basic};
  for (std::int64_t k = 0; k < n;) {
    const Stretch target = stretch(to.buffer, basic, n, k);
    Stretch in{nullptr, n}, out{nullptr, n};
    if (from != nullptr) in = stretch(*from, basic, n, k);
    if (result != nullptr) out = stretch(*result, basic, n, k);
    const std::int64_t now = std::min({target.n, in.n, out.n});
    WEFT_TRY(change_any(win, what, to, target.at, in.at, out.at, now));
    k += now;
  }
  return ok;
}

/// Types of which MPI_Compare_and_swap compares elements (§12.3.4).
bool is_comparable(Basic basic) {
  using enum Basic;
  return (basic >= i8 && basic <= i128) || (basic >= logical1 && basic <= boolean) ||
         basic == byte || basic == character;
}

template <class T>
void swap_at_once(void* target, const void* from, const void* compare, void* result) {
  T expected, next;
  std::memcpy(&expected, compare, sizeof(T));
  std::memcpy(&next, from, sizeof(T));
  std::atomic_ref<T>(*static_cast<T*>(target)).compare_exchange_strong(expected, next);
  std::memcpy(result, &expected, sizeof(T));
}

Err swap_alone(Window& win, const Reached& to, const void* from, const void* compare, void* result,
               std::size_t bytes) {
  const Alone alone(win, *to.target->words);
  const auto at = reinterpret_cast<std::uint64_t>(to.buffer.data);
  std::byte old[32];
  if (to.direct)
    std::memcpy(old, to.buffer.data, bytes);
  else if (!memory::read_peer(to.target->pid, at, old, bytes))
    return kernel_failed(*to.target);
  if (std::memcmp(old, compare, bytes) == 0) {
    if (to.direct)
      std::memcpy(to.buffer.data, from, bytes);
    else if (!memory::write_peer(to.target->pid, from, at, bytes))
      return kernel_failed(*to.target);
  }
  std::memcpy(result, old, bytes);
  return ok;
}

Err swap_any(Window& win, const Reached& to, Basic basic, const void* from, const void* compare,
             void* result) {
  void* const at = to.buffer.data;
  const std::int64_t bytes = data_bytes(basic);
  if (!win.direct || !is_changed_at_once(basic, at))
    return swap_alone(win, to, from, compare, result, static_cast<std::size_t>(bytes));
  const Changing changing(win, *to.target->words);
  switch (bytes) {
    case 1:
      swap_at_once<std::uint8_t>(at, from, compare, result);
      break;
    case 2:
      swap_at_once<std::uint16_t>(at, from, compare, result);
      break;
    case 4:
      swap_at_once<std::uint32_t>(at, from, compare, result);
      break;
    default:
      swap_at_once<std::uint64_t>(at, from, compare, result);
      break;
  }
  return ok;
}

}  // namespace

void swap_own(Window& win, Basic basic, void* target, const void* from, const void* compare,
              void* result) {
  Reached mine;
  mine.target = &win.mine();
  mine.buffer.data = target;
  mine.direct = true;
  // Cannot fail: the memory is this process's.
  static_cast<void>(swap_any(win, mine, basic, from, compare, result));
}

Err accumulate(const ConstBuffer& from, const Place& to, const object::Op& op, Window& win,
               MPI_Request* away) {
  return run(&from, nullptr, to, op, win, away);
}

Err get_accumulate(const ConstBuffer& from, const Buffer& result, const Place& to,
                   const object::Op& op, Window& win, MPI_Request* away) {
  // What the origin passes besides is ignored (§12.3.4).
  const bool reads = op.operation == Operation::no_op;
  return run(reads ? nullptr : &from, &result, to, op, win, away);
}

Err fetch_and_op(const void* from, void* result, const Place& to, const object::Op& op,
                 Window& win) {
  if (!to.type->predefined)
    return fail(MPI_ERR_TYPE, "datatype is derived; MPI_Fetch_and_op takes predefined ones only");
  return get_accumulate({from, 1, to.type}, {result, 1, to.type}, to, op, win);
}

Err compare_and_swap(const void* from, const void* compare, void* result, const Place& to,
                     Window& win) {
  if (!to.type->predefined || !is_comparable(to.type->basic)) {
    const char* name = datatype::predefined_name(*to.type);
    return fail(
        MPI_ERR_TYPE,
        "datatype is %s; MPI_Compare_and_swap takes predefined integers, logicals and bytes",
        name != nullptr ? name : "derived");
  }
  count(win, &Counters::rma_accumulates);
  if (!win.is_simple) [[unlikely]] {
    WEFT_TRY(watch(win, {.does = Does::accumulate, .type = to.type, .brings = true}, to));
    if (is_away(win, to.rank)) return swap_away(from, compare, result, to, win);
  }
  Reached there;
  WEFT_TRY(reach(win, to, &there));
  if (there.target == nullptr) return ok;
  return swap_any(win, there, to.type->basic, from, compare, result);
}

}  // namespace weft::rma
