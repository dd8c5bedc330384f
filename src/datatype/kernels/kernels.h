// SPDX-License-Identifier: Apache-2.0
//
// The reduction loops, as plain C++ that the compiler vectorises. This file is compiled once per
// instruction set (baseline.cc, avx2.cc, avx512.cc, each with its own -m flags), so everything is
// in an unnamed namespace and nothing of the standard library is used: no inline function of one
// instruction set may be merged with that of another.
//
// Choice is by switch, not by a table of pointers, which would cost relocations at every start.
// reduce.cc asks once for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/loop.h"
#include "datatype/reduce.h"

namespace weft::datatype::kernels {

using Loop = void (*)(const Vectors&);

/// The loop of an operation on a type, for each instruction set; null: `op` is not defined for it.
Loop baseline_loop(Operation op, Basic basic);
Loop avx2_loop(Operation op, Basic basic);
Loop avx512_loop(Operation op, Basic basic);

namespace {

using std::int64_t;
using i128 = __int128;
using u128 = unsigned __int128;

/// bfloat16: the upper half of a float; rounds to nearest even.
struct Bf16 {
  std::uint16_t bits;
  Bf16() = default;
  Bf16(float f) {
    const auto u = __builtin_bit_cast(std::uint32_t, f);
    const bool nan = (u & 0x7fffffff) > 0x7f800000;
    const std::uint32_t rounded = u + 0x7fff + ((u >> 16) & 1);
    bits = static_cast<std::uint16_t>(nan ? (u >> 16) | 0x40 : rounded >> 16);
  }
  operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};

/// binary16; rounds to nearest even. Not _Float16, which compilers convert one by one, or by a call
/// where the processor has no instruction for it: this is plain arithmetic that vectorises
/// anywhere, and gives what the instructions give. Choices are masks: a branch around arithmetic of
/// floats would stay a branch.
struct Half {
  std::uint16_t bits;
  Half() = default;
  Half(float f) {
    constexpr std::int32_t infinity = 0x7f800000, smallest_normal = 113 << 23,
                           too_large = 143 << 23;
    const auto u = __builtin_bit_cast(std::int32_t, f);
    const std::int32_t x = u & 0x7fffffff;
    const std::int32_t normal = (x - (112 << 23) + 0xfff + (x >> 13 & 1)) >> 13;
    // 0.5 has just the exponent at which the last bit of a float is the last of a subnormal half.
    const float shifted = __builtin_bit_cast(float, x) + 0.5f;
    const std::int32_t subnormal = __builtin_bit_cast(std::int32_t, shifted) - (126 << 23);
    const std::int32_t nan = 0x7e00 | (x >> 13 & 0x3ff);
    const std::int32_t finite = choose(x < smallest_normal, subnormal, normal);
    const std::int32_t h = choose(x > infinity, nan, choose(x >= too_large, 0x7c00, finite));
    bits = static_cast<std::uint16_t>((u >> 16 & 0x8000) | h);
  }
  operator float() const {
    const std::int32_t x = (bits & 0x7fff) << 13, sign = (bits & 0x8000) << 16;
    // 2^112 moves the exponent; infinities and NaN keep the largest one.
    const float scaled = __builtin_bit_cast(float, x) * __builtin_bit_cast(float, 239 << 23);
    const auto u = __builtin_bit_cast(std::int32_t, scaled);
    return __builtin_bit_cast(float, choose(x >= 31 << 23, x | 0x7f800000, u) | sign);
  }

 private:
  static std::int32_t choose(bool first, std::int32_t a, std::int32_t b) {
    const std::int32_t mask = -static_cast<std::int32_t>(first);
    return (a & mask) | (b & ~mask);
  }
};

template <class T>
struct Complex {
  T re, im;
};

template <class V, class I>
struct Pair {
  V value;
  I index;
};

/// The unsigned type of T's width: sums and products wrap instead of being undefined.
template <std::size_t Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using T = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using T = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using T = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using T = std::uint64_t;
};
template <>
struct UnsignedOf<16> {
  using T = u128;
};
template <class T>
using Unsigned = typename UnsignedOf<sizeof(T)>::T;

template <class T, class F>
[[gnu::always_inline]] inline void each(const Vectors& v, F f) {
  const T* a = static_cast<const T*>(v.left);
  const T* b = static_cast<const T*>(v.right);
  T* out = static_cast<T*>(v.out);
  const int64_t n = v.n;
  // An element depends on those of its own index only: `out` is one of the others or apart from
  // both.
  WEFT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

/// Wider words for sums of small unsigned integers: (U)(a + b) is what wraps.
template <class U>
void integer_sum(const Vectors& v) {
  each<U>(v, [](U a, U b) { return static_cast<U>(a + b); });
}
template <class U>
void integer_prod(const Vectors& v) {
  // 1u: a product of two uint16_t would be one of two ints, which can overflow
  each<U>(v, [](U a, U b) { return static_cast<U>(1u * a * b); });
}
template <class T>
void sum(const Vectors& v) {
  each<T>(v, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
void prod(const Vectors& v) {
  each<T>(v, [](T a, T b) { return static_cast<T>(a * b); });
}
template <class T>
void min(const Vectors& v) {
  each<T>(v, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
void max(const Vectors& v) {
  each<T>(v, [](T a, T b) { return a > b ? a : b; });
}
/// Of 16-bit floats as the words that they are in: a choice between structures does not vectorise.
template <class T>
void short_extremum(bool least, const Vectors& v) {
  const auto value = [](std::uint16_t bits) {
    T t;
    t.bits = bits;
    return static_cast<float>(t);
  };
  if (least)
    each<std::uint16_t>(v, [=](std::uint32_t a, std::uint32_t b) {
      const std::uint32_t less =
          value(static_cast<std::uint16_t>(a)) < value(static_cast<std::uint16_t>(b)) ? a : b;
      return static_cast<std::uint16_t>(less);
    });
  else
    each<std::uint16_t>(v, [=](std::uint32_t a, std::uint32_t b) {
      const std::uint32_t more =
          value(static_cast<std::uint16_t>(a)) > value(static_cast<std::uint16_t>(b)) ? a : b;
      return static_cast<std::uint16_t>(more);
    });
}
template <>
void min<Half>(const Vectors& v) {
  short_extremum<Half>(true, v);
}
template <>
void max<Half>(const Vectors& v) {
  short_extremum<Half>(false, v);
}
template <>
void min<Bf16>(const Vectors& v) {
  short_extremum<Bf16>(true, v);
}
template <>
void max<Bf16>(const Vectors& v) {
  short_extremum<Bf16>(false, v);
}
template <class T>
void complex_sum(const Vectors& v) {
  each<T>({v.left, v.right, v.out, 2 * v.n}, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
void complex_prod(const Vectors& v) {
  using C = Complex<T>;
  each<C>(v, [](C a, C b) {
    return C{static_cast<T>(a.re * b.re - a.im * b.im), static_cast<T>(a.re * b.im + a.im * b.re)};
  });
}

template <class U>
Loop bitwise(Operation op) {
  if (op == Operation::band)
    return [](const Vectors& v) { each<U>(v, [](U a, U b) { return static_cast<U>(a & b); }); };
  if (op == Operation::bor)
    return [](const Vectors& v) { each<U>(v, [](U a, U b) { return static_cast<U>(a | b); }); };
  if (op == Operation::bxor)
    return [](const Vectors& v) { each<U>(v, [](U a, U b) { return static_cast<U>(a ^ b); }); };
  return nullptr;
}
template <class U>
Loop logical(Operation op) {
  if (op == Operation::land)
    return [](const Vectors& v) {
      each<U>(v, [](U a, U b) { return static_cast<U>((a != 0) & (b != 0)); });
    };
  if (op == Operation::lor)
    return
        [](const Vectors& v) { each<U>(v, [](U a, U b) { return static_cast<U>((a | b) != 0); }); };
  if (op == Operation::lxor)
    return [](const Vectors& v) {
      each<U>(v, [](U a, U b) { return static_cast<U>((a != 0) != (b != 0)); });
    };
  return nullptr;
}

/// The smaller (greater) value; of equal ones the lower index (MPI-5.0 §6.9.4).
template <class V, class I, bool least>
void extreme(const Vectors& v) {
  using P = Pair<V, I>;
  const P* a = static_cast<const P*>(v.left);
  const P* b = static_cast<const P*>(v.right);
  P* out = static_cast<P*>(v.out);
  for (int64_t i = 0; i < v.n; ++i) {
    const bool better = least ? a[i].value < b[i].value : a[i].value > b[i].value;
    const bool lower = a[i].value == b[i].value && a[i].index < b[i].index;
    // Member by member: the gap is not ours to write.
    const V value = better ? a[i].value : b[i].value;
    const I index = better || lower ? a[i].index : b[i].index;
    out[i].value = value;
    out[i].index = index;
  }
}

template <class T>
Loop integer(Operation op) {
  using U = Unsigned<T>;
  switch (op) {
    case Operation::sum:
      return integer_sum<U>;
    case Operation::prod:
      return integer_prod<U>;
    case Operation::min:
      return min<T>;
    case Operation::max:
      return max<T>;
    case Operation::band:
    case Operation::bor:
    case Operation::bxor:
      return bitwise<U>(op);
    default:
      return logical<U>(op);
  }
}

template <class T>
Loop floating(Operation op) {
  switch (op) {
    case Operation::sum:
      return sum<T>;
    case Operation::prod:
      return prod<T>;
    case Operation::min:
      return min<T>;
    case Operation::max:
      return max<T>;
    default:
      return nullptr;
  }
}

template <class T>
Loop complex(Operation op) {
  if (op == Operation::sum) return complex_sum<T>;
  if (op == Operation::prod) return complex_prod<T>;
  return nullptr;
}

template <class V, class I>
Loop locate(Operation op) {
  if (op == Operation::minloc) return extreme<V, I, true>;
  if (op == Operation::maxloc) return extreme<V, I, false>;
  return nullptr;
}

template <class V>
Loop pair(Operation op, bool wide) {
  return wide ? locate<V, std::int64_t>(op) : locate<V, std::int32_t>(op);
}

inline Loop pairs(Operation op, int code) {
  const bool wide = code % 2 != 0;  // as pair_of() makes them
  switch (static_cast<Basic>(code / 2 + 1)) {
    case Basic::i8:
      return pair<std::int8_t>(op, wide);
    case Basic::i16:
      return pair<std::int16_t>(op, wide);
    case Basic::i32:
      return pair<std::int32_t>(op, wide);
    case Basic::i64:
      return pair<std::int64_t>(op, wide);
    case Basic::u8:
      return pair<std::uint8_t>(op, wide);
    case Basic::u16:
      return pair<std::uint16_t>(op, wide);
    case Basic::u32:
      return pair<std::uint32_t>(op, wide);
    case Basic::u64:
      return pair<std::uint64_t>(op, wide);
    case Basic::i128:
      return pair<i128>(op, wide);
    case Basic::f16:
      return pair<Half>(op, wide);
    case Basic::bf16:
      return pair<Bf16>(op, wide);
    case Basic::f32:
      return pair<float>(op, wide);
    case Basic::f64:
      return pair<double>(op, wide);
    case Basic::f80:
      return pair<long double>(op, wide);
    case Basic::f128:
      return pair<__float128>(op, wide);
    default:
      return nullptr;
  }
}

/// Everything that gains from wide vectors; null: not among it.
inline Loop vector_loop(Operation op, Basic basic) {
  switch (basic) {
    case Basic::i8:
      return integer<std::int8_t>(op);
    case Basic::i16:
      return integer<std::int16_t>(op);
    case Basic::i32:
      return integer<std::int32_t>(op);
    case Basic::i64:
      return integer<std::int64_t>(op);
    case Basic::u8:
      return integer<std::uint8_t>(op);
    case Basic::u16:
      return integer<std::uint16_t>(op);
    case Basic::u32:
      return integer<std::uint32_t>(op);
    case Basic::u64:
      return integer<std::uint64_t>(op);
    case Basic::f16:
      return floating<Half>(op);
    case Basic::bf16:
      return floating<Bf16>(op);
    case Basic::f32:
      return floating<float>(op);
    case Basic::f64:
      return floating<double>(op);
    case Basic::c16:
      return complex<Half>(op);
    case Basic::c32:
      return complex<float>(op);
    case Basic::c64:
      return complex<double>(op);
    case Basic::boolean:
    case Basic::logical1:
      return logical<std::uint8_t>(op);
    case Basic::logical2:
      return logical<std::uint16_t>(op);
    case Basic::logical4:
      return logical<std::uint32_t>(op);
    case Basic::logical8:
      return logical<std::uint64_t>(op);
    case Basic::byte:
      return bitwise<std::uint8_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace weft::datatype::kernels
