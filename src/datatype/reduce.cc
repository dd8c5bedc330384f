// SPDX-License-Identifier: Apache-2.0
//
// Which operation is defined for what, and the choice of instruction set. MPI_REPLACE and MPI_NO_OP
// need no loops. What is large is offered to idle threads (parallel/jobs.h): each element's result
// depends on nothing else, so its bits are the same.
#include "datatype/reduce.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/assert.h"
#include "datatype/kernels/kernels.h"
#include "parallel/jobs.h"

namespace weft::datatype {
namespace {

using kernels::Loop;

Loop choose(Operation op, Basic basic) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return kernels::avx512_loop(op, basic);
  if (__builtin_cpu_supports("avx2")) return kernels::avx2_loop(op, basic);
#endif
  return kernels::baseline_loop(op, basic);
}

/// What choose() says, which is a constant of the machine, asked once: to fill the whole table
/// would take 30 us.
Loop loop_of(Operation op, Basic basic) {
  constexpr int operations = static_cast<int>(Operation::maxloc) + 1;
  constexpr int basics = static_cast<int>(pair_of(Basic::f128, Basic::i64)) + 1;
  static std::atomic<Loop> loops[operations][basics];
  std::atomic<Loop>& known = loops[static_cast<int>(op)][static_cast<int>(basic)];
  // relaxed: whoever asks stores the same
  Loop loop = known.load(std::memory_order_relaxed);
  if (loop == nullptr) [[unlikely]] {
    loop = choose(op, basic);
    WEFT_ASSERT(loop != nullptr);
    known.store(loop, std::memory_order_relaxed);
  }
  return loop;
}

/// Of a pair that is no Fortran type: its value, and the bytes of its index.
struct Parts {
  Basic value;
  std::int64_t index;
};
Parts parts_of(Basic pair) {
  const int code = static_cast<int>(pair) - static_cast<int>(Basic::pairs);
  return {static_cast<Basic>(code / 2 + 1), code % 2 != 0 ? 8 : 4};
}
bool has_parts(Basic basic) {
  return basic >= Basic::pairs;
}

}  // namespace

std::int64_t stride_of(Basic basic) {
  using enum Basic;
  switch (basic) {
    case none:
      return 0;
    case i8:
    case u8:
    case logical1:
    case boolean:
    case character:
    case byte:
      return 1;
    case i16:
    case u16:
    case f16:
    case bf16:
    case logical2:
      return 2;
    case i32:
    case u32:
    case f32:
    case c16:
    case logical4:
      return 4;
    case i64:
    case u64:
    case f64:
    case c32:
    case logical8:
    case pair_2real:
      return 8;
    case i128:
    case f80:
    case f128:
    case c64:
    case logical16:
    case pair_2double_precision:
      return 16;
    case c80:
    case c128:
      return 32;
    default:
      break;
  }
  // The larger of the two is the alignment, and both sizes are powers of two.
  const Parts parts = parts_of(basic);
  return 2 * std::max(stride_of(parts.value), parts.index);
}

std::int64_t data_bytes(Basic basic) {
  if (!has_parts(basic)) return stride_of(basic);
  const Parts parts = parts_of(basic);
  return stride_of(parts.value) + parts.index;
}

std::int64_t span_of(Basic basic) {
  if (!has_parts(basic)) return stride_of(basic);
  const Parts parts = parts_of(basic);
  return std::max(stride_of(parts.value), parts.index) + parts.index;
}

bool is_defined(Operation op, Basic basic) {
  using enum Basic;
  const bool integer = basic >= i8 && basic <= i128;
  const bool floating = basic >= f16 && basic <= f128;
  const bool complex = basic >= c16 && basic <= c128;
  const bool logical = basic >= logical1 && basic <= boolean;
  switch (op) {
    case Operation::null:
    case Operation::user:
      return false;
    case Operation::sum:
    case Operation::prod:
      return integer || floating || complex;
    case Operation::min:
    case Operation::max:
      return integer || floating;
    case Operation::band:
    case Operation::bor:
    case Operation::bxor:
      return integer || basic == byte;
    case Operation::land:
    case Operation::lor:
    case Operation::lxor:
      return integer || logical;
    case Operation::minloc:
    case Operation::maxloc:
      return is_pair(basic);
    case Operation::replace:
    case Operation::no_op:
      return basic != none;
  }
  return false;
}

namespace {

[[gnu::always_inline]] inline void reduce_alone(Operation op, Basic basic, const Vectors& v) {
  if (op == Operation::replace || op == Operation::no_op) {
    const void* kept = op == Operation::replace ? v.left : v.right;
    if (kept != v.out) std::memcpy(v.out, kept, static_cast<std::size_t>(v.n * stride_of(basic)));
    return;
  }
  loop_of(op, basic)(v);
}

/// Less than this takes no core as long as an offer has to be worth.
constexpr std::int64_t shortest_bytes = std::int64_t{32} << 10;

[[gnu::noinline]] void reduce_in_parts(Operation op, Basic basic, const Vectors& v) {
  constexpr std::int64_t many = 1024, line = 64;
  const std::int64_t stride = stride_of(basic);
  const std::int64_t bytes = v.n * stride;
  // Two lines are read, and one written.
  const std::int64_t worth_ns =
      parallel::jobs().worth_ns(1.5 * static_cast<double>(bytes) / static_cast<double>(line));
  const std::int64_t unit = v.n >= many ? line * stride : stride;
  parallel::for_parts(bytes, unit, worth_ns, [&](std::int64_t from, std::int64_t to) {
    reduce_alone(op, basic,
                 {static_cast<const std::byte*>(v.left) + from,
                  static_cast<const std::byte*>(v.right) + from,
                  static_cast<std::byte*>(v.out) + from, (to - from) / stride});
  });
}

}  // namespace

void reduce(Operation op, Basic basic, const Vectors& v) {
  if (v.n <= 0) return;
  constexpr std::int64_t longest_stride = 32;
  const bool is_short =
      v.n < shortest_bytes / longest_stride || v.n * stride_of(basic) < shortest_bytes;
  if (is_short && !parallel::jobs().is_forced()) [[likely]]
    return reduce_alone(op, basic, v);
  reduce_in_parts(op, basic, v);
}

}  // namespace weft::datatype
