// SPDX-License-Identifier: Apache-2.0
//
// Every predefined operation on every machine type against a naive loop, at lengths around the
// vector widths and at unaligned element offsets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "datatype/kernels/kernels.h"
#include "datatype/reduce.h"
#include "unit/parallel/helping.h"

namespace weft::datatype::test {
namespace {

using i128 = __int128;
using f128 = __float128;
using enum Operation;

constexpr Operation all_operations[] = {sum,  min, max,  prod,   band,   bor,     bxor,
                                        land, lor, lxor, minloc, maxloc, replace, no_op};

std::mt19937_64 random_bits(20261121);

template <class T>
T random_value() {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, i128>)
    return static_cast<T>(random_bits() % 4 == 0 ? random_bits() % 3 : random_bits());
  else
    return static_cast<T>(static_cast<double>(static_cast<int>(random_bits() % 64) - 32) / 4);
}

template <class T>
T naive(Operation op, T a, T b) {
  using Wide = std::conditional_t<sizeof(T) == 16, unsigned __int128, std::uint64_t>;
  constexpr bool integer = std::is_integral_v<T> || std::is_same_v<T, i128>;
  switch (op) {
    case min:
      return a < b ? a : b;
    case max:
      return a > b ? a : b;
    case sum:
      if constexpr (integer)
        return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
      else
        return static_cast<T>(a + b);
    case prod:
      if constexpr (integer)
        return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
      else
        return static_cast<T>(a * b);
    case replace:
      return a;
    case no_op:
      return b;
    default:
      break;
  }
  if constexpr (integer) {
    if (op == band) return static_cast<T>(a & b);
    if (op == bor) return static_cast<T>(a | b);
    if (op == bxor) return static_cast<T>(a ^ b);
    if (op == land) return static_cast<T>(a && b);
    if (op == lor) return static_cast<T>(a || b);
    if (op == lxor) return static_cast<T>(!a != !b);
  }
  ADD_FAILURE() << "operation without a naive form";
  return b;
}

/// reduce(), and the loops of every instruction set that this processor has.
using ReduceFn = void (*)(Operation, Basic, const Vectors&);
struct Implementation {
  ReduceFn run;
  void operator()(Operation op, Basic basic, const void* in, void* inout, std::int64_t n) const {
    run(op, basic, {in, inout, inout, n});
  }
};
template <kernels::Loop (*loop_of)(Operation, Basic)>
void run_loop(Operation op, Basic basic, const Vectors& v) {
  loop_of(op, basic)(v);
}
std::vector<Implementation> implementations(Operation op) {
  std::vector<Implementation> list = {{reduce}};
  if (op == replace || op == no_op) return list;
  list.push_back({run_loop<kernels::baseline_loop>});
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) list.push_back({run_loop<kernels::avx2_loop>});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    list.push_back({run_loop<kernels::avx512_loop>});
#endif
  return list;
}

constexpr std::int64_t lengths[] = {0, 1, 2, 3, 7, 8, 15, 31, 33, 64, 100, 257};

template <class T>
void check_numbers(Basic basic, std::initializer_list<Operation> defined) {
  for (const Operation op : all_operations) {
    const bool should = std::find(defined.begin(), defined.end(), op) != defined.end();
    ASSERT_EQ(is_defined(op, basic), should) << int(op) << " of " << int(basic);
    if (!should) continue;
    for (const std::int64_t n : lengths) {
      std::vector<T> a(static_cast<std::size_t>(n) + 1), b(a.size());
      for (auto& x : a) x = random_value<T>();
      for (auto& x : b) x = random_value<T>();
      std::vector<T> expected = b;
      for (std::size_t i = 1; i < b.size(); ++i) expected[i] = naive(op, a[i], b[i]);
      for (const Implementation run : implementations(op)) {
        std::vector<T> got = b;
        run(op, basic, a.data() + 1, got.data() + 1, n);
        for (std::size_t i = 0; i < b.size(); ++i)
          ASSERT_TRUE(got[i] == expected[i]) << "operation " << int(op) << " type " << int(basic)
                                             << " element " << i << " of " << n;
        // To a third vector, and to the left one.
        std::vector<T> apart = b, left = a;
        run.run(op, basic, {a.data() + 1, b.data() + 1, apart.data() + 1, n});
        run.run(op, basic, {left.data() + 1, b.data() + 1, left.data() + 1, n});
        for (std::size_t i = 1; i < b.size(); ++i)
          ASSERT_TRUE(apart[i] == expected[i] && left[i] == expected[i])
              << "operation " << int(op) << " type " << int(basic) << " element " << i;
      }
    }
  }
}

TEST(Reduce, Integers) {
  const auto defined = {sum, prod, min, max, band, bor, bxor, land, lor, lxor, replace, no_op};
  check_numbers<std::int8_t>(Basic::i8, defined);
  check_numbers<std::int16_t>(Basic::i16, defined);
  check_numbers<std::int32_t>(Basic::i32, defined);
  check_numbers<std::int64_t>(Basic::i64, defined);
  check_numbers<std::uint8_t>(Basic::u8, defined);
  check_numbers<std::uint16_t>(Basic::u16, defined);
  check_numbers<std::uint32_t>(Basic::u32, defined);
  check_numbers<std::uint64_t>(Basic::u64, defined);
  check_numbers<i128>(Basic::i128, defined);
}

TEST(Reduce, Floats) {
  const auto defined = {sum, prod, min, max, replace, no_op};
  check_numbers<_Float16>(Basic::f16, defined);
  check_numbers<float>(Basic::f32, defined);
  check_numbers<double>(Basic::f64, defined);
  check_numbers<long double>(Basic::f80, defined);
  check_numbers<f128>(Basic::f128, defined);
}

TEST(Reduce, HasALoopForWhatIsDefined) {
  constexpr int last = static_cast<int>(Basic::pair_2double_precision),
                pairs = static_cast<int>(Basic::pairs);
  for (int code = 0; code < pairs + 30; code = code == last ? pairs : code + 1)
    for (const Operation op : all_operations) {
      const auto basic = static_cast<Basic>(code);
      const bool has_loop = kernels::baseline_loop(op, basic) != nullptr;
      const bool needs_one = is_defined(op, basic) && op != replace && op != no_op;
      EXPECT_EQ(has_loop, needs_one) << int(op) << " of " << code;
    }
}

TEST(Reduce, LogicalsAndBytes) {
  const auto logical = {land, lor, lxor, replace, no_op};
  check_numbers<std::uint8_t>(Basic::logical1, logical);
  check_numbers<std::uint16_t>(Basic::logical2, logical);
  check_numbers<std::uint32_t>(Basic::logical4, logical);
  check_numbers<std::uint64_t>(Basic::logical8, logical);
  check_numbers<i128>(Basic::logical16, logical);
  check_numbers<std::uint8_t>(Basic::boolean, logical);
  check_numbers<std::uint8_t>(Basic::byte, {band, bor, bxor, replace, no_op});
  check_numbers<std::uint8_t>(Basic::character, {replace, no_op});
  for (const Operation op : all_operations) EXPECT_FALSE(is_defined(op, Basic::none));
}

template <class T>
void check_complex(Basic basic) {
  struct C {
    T re, im;
  };
  for (const Operation op : all_operations)
    ASSERT_EQ(is_defined(op, basic), op == sum || op == prod || op == replace || op == no_op);
  for (const Operation op : {sum, prod, replace, no_op}) {
    for (const std::int64_t n : lengths) {
      std::vector<C> a(static_cast<std::size_t>(n)), b(a.size());
      for (auto& x : a) x = {random_value<T>(), random_value<T>()};
      for (auto& x : b) x = {random_value<T>(), random_value<T>()};
      std::vector<C> e = b;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const C x = a[i], y = b[i];
        if (op == sum) e[i] = {static_cast<T>(x.re + y.re), static_cast<T>(x.im + y.im)};
        if (op == prod)
          e[i] = {static_cast<T>(x.re * y.re - x.im * y.im),
                  static_cast<T>(x.re * y.im + x.im * y.re)};
        if (op == replace) e[i] = x;
      }
      for (const Implementation run : implementations(op)) {
        std::vector<C> got = b;
        run(op, basic, a.data(), got.data(), n);
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_TRUE(got[i].re == e[i].re && got[i].im == e[i].im) << int(op) << " " << int(basic);
      }
    }
  }
}

TEST(Reduce, Complex) {
  check_complex<_Float16>(Basic::c16);
  check_complex<float>(Basic::c32);
  check_complex<double>(Basic::c64);
  check_complex<long double>(Basic::c80);
  check_complex<f128>(Basic::c128);
}

template <class V, class I>
void check_pair(Basic basic) {
  struct P {
    V value;
    I index;
  };
  ASSERT_NE(basic, Basic::none);
  for (const Operation op : all_operations)
    ASSERT_EQ(is_defined(op, basic), op == minloc || op == maxloc || op == replace || op == no_op);
  for (const Operation op : {minloc, maxloc, replace, no_op}) {
    for (const std::int64_t n : lengths) {
      std::vector<P> a(static_cast<std::size_t>(n)), b(a.size());
      for (auto* list : {&a, &b})
        for (auto& x : *list)
          x = {static_cast<V>(static_cast<int>(random_bits() % 4)),
               static_cast<I>(random_bits() % 100)};
      std::vector<P> e = b;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const bool better = op == minloc ? a[i].value < b[i].value : a[i].value > b[i].value;
        if (op == no_op) continue;
        if (op == replace || better || (a[i].value == b[i].value && a[i].index < b[i].index))
          e[i] = a[i];
      }
      for (const Implementation run : implementations(op)) {
        std::vector<P> got = b;
        run(op, basic, a.data(), got.data(), n);
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_TRUE(got[i].value == e[i].value && got[i].index == e[i].index)
              << int(op) << " " << int(basic);
        std::vector<P> left = a;
        run.run(op, basic, {left.data(), b.data(), left.data(), n});
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_TRUE(left[i].value == e[i].value && left[i].index == e[i].index)
              << int(op) << " " << int(basic);
      }
    }
  }
}

template <class V>
void check_pairs(Basic value) {
  check_pair<V, std::int32_t>(pair_of(value, Basic::i32));
  check_pair<V, std::int64_t>(pair_of(value, Basic::i64));
}

TEST(Reduce, Pairs) {
  check_pairs<std::int8_t>(Basic::i8);
  check_pairs<std::int16_t>(Basic::i16);
  check_pairs<std::int32_t>(Basic::i32);
  check_pairs<std::int64_t>(Basic::i64);
  check_pairs<std::uint8_t>(Basic::u8);
  check_pairs<std::uint16_t>(Basic::u16);
  check_pairs<std::uint32_t>(Basic::u32);
  check_pairs<std::uint64_t>(Basic::u64);
  check_pairs<i128>(Basic::i128);
  check_pairs<_Float16>(Basic::f16);
  check_pairs<float>(Basic::f32);
  check_pairs<double>(Basic::f64);
  check_pairs<long double>(Basic::f80);
  check_pairs<f128>(Basic::f128);
  check_pair<float, float>(Basic::pair_2real);
  check_pair<double, double>(Basic::pair_2double_precision);
}

TEST(Reduce, EveryHalf) {
  // All 65536 of them, subnormal, infinite and no numbers too, with others of each kind.
  constexpr std::uint16_t others[] = {0,      0x8000, 1,      0x3ff,  0x400,
                                      0x3c00, 0xbc01, 0x7bff, 0x7c00, 0xfc00};
  std::vector<std::uint16_t> every(65536);
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<std::uint16_t>(i);
  for (const std::uint16_t other : others)
    for (const Operation op : {sum, prod, min, max})
      for (const Implementation run : implementations(op)) {
        std::vector<std::uint16_t> got(every.size(), other);
        run(op, Basic::f16, every.data(), got.data(), 65536);
        for (std::size_t i = 0; i < every.size(); ++i) {
          const auto a = __builtin_bit_cast(_Float16, every[i]);
          const auto b = __builtin_bit_cast(_Float16, other);
          const auto wanted = naive<_Float16>(op, a, b);
          const auto value = __builtin_bit_cast(_Float16, got[i]);
          ASSERT_TRUE(got[i] == __builtin_bit_cast(std::uint16_t, wanted) ||
                      (value != value && wanted != wanted))
              << "operation " << int(op) << " of " << i << " and " << other << ": " << got[i];
        }
      }
}

TEST(Reduce, Bfloat16RoundsToNearestEven) {
  const auto bits = [](float f) {
    std::uint32_t u;
    std::memcpy(&u, &f, 4);
    return static_cast<std::uint16_t>(u >> 16);
  };
  // 1 + 2^-8 lies half way between two bfloat16; to even means down. 1 + 3*2^-8 goes up.
  std::uint16_t a[3] = {bits(1.0f), bits(1.0f), bits(2.0f)};
  std::uint16_t b[3] = {bits(0.00390625f), bits(0.01171875f), bits(3.0f)};
  reduce(sum, Basic::bf16, a, b, 3);
  EXPECT_EQ(b[0], bits(1.0f));
  EXPECT_EQ(b[1], bits(1.015625f));
  EXPECT_EQ(b[2], bits(5.0f));
}

/// In parts, by any threads, each element has the bits that it has alone.
TEST(Reduce, TheSameBitsInPartsByAnyThreads) {
  constexpr std::size_t n = 3001, widest = 32;
  std::vector<std::uint64_t> left(n * widest / 8), right(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = random_bits();
    right[i] = random_bits();
  }
  std::vector<Basic> all;
  for (int b = 1; b <= static_cast<int>(Basic::pair_2double_precision); ++b)
    all.push_back(static_cast<Basic>(b));
  for (int value = 1; value <= static_cast<int>(Basic::f128); ++value)
    for (const Basic index : {Basic::i32, Basic::i64})
      all.push_back(pair_of(static_cast<Basic>(value), index));
  for (const Basic basic : all)
    for (const Operation op : all_operations) {
      if (basic == Basic::none || !is_defined(op, basic)) continue;
      std::vector<std::uint64_t> alone = right, helped = right;
      reduce(op, basic, left.data(), alone.data(), n);
      const parallel::test::AllJobsOffered offered(1);
      reduce(op, basic, left.data(), helped.data(), n);
      ASSERT_EQ(alone, helped) << "operation " << static_cast<int>(op) << ", type "
                               << static_cast<int>(basic);
    }
}

}  // namespace
}  // namespace weft::datatype::test
