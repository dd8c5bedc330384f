// SPDX-License-Identifier: Apache-2.0
//
// The innermost loops of pack, unpack and copy: blocks of one length at two regular distances. The
// block length selects a loop whose copies have a length known to the compiler, so that a block of
// 8 bytes costs one load and one store and not a call of memcpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::datatype {

/// `outer` times `n` blocks of `length` bytes.
struct Strided {
  std::byte* to;
  const std::byte* from;
  std::int64_t length;
  std::int64_t n, to_stride, from_stride;
  std::int64_t outer = 1, to_outer = 0, from_outer = 0;
};

namespace strided_detail {

template <class CopyBlock>
[[gnu::always_inline]] inline void each(const Strided& s, CopyBlock copy_block) {
  for (std::int64_t o = 0; o < s.outer; ++o) {
    std::byte* to = s.to + o * s.to_outer;
    const std::byte* from = s.from + o * s.from_outer;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < s.n; ++i) {
      copy_block(to, from);
      to += s.to_stride;
      from += s.from_stride;
    }
  }
}

template <std::size_t Length>
void exact(const Strided& s) {
  each(s, [](std::byte* to, const std::byte* from) { __builtin_memcpy(to, from, Length); });
}

/// Lengths from Half to 2 Half: the first and the last Half bytes, which may overlap.
template <std::size_t Half>
void ends(const Strided& s) {
  const std::int64_t last = s.length - static_cast<std::int64_t>(Half);
  each(s, [last](std::byte* to, const std::byte* from) {
    __builtin_memcpy(to, from, Half);
    __builtin_memcpy(to + last, from + last, Half);
  });
}

}  // namespace strided_detail

/// Copy one block; small ones without a call.
[[gnu::always_inline]] inline void copy_block(std::byte* to, const std::byte* from,
                                              std::int64_t length) {
  if (length == 8) return void(__builtin_memcpy(to, from, 8));
  if (length == 4) return void(__builtin_memcpy(to, from, 4));
  if (length == 16) return void(__builtin_memcpy(to, from, 16));
  __builtin_memcpy(to, from, static_cast<std::size_t>(length));
}

inline void copy_strided(const Strided& s) {
  using namespace strided_detail;
  switch (s.length) {
    case 1: return exact<1>(s);
    case 2: return exact<2>(s);
    case 4: return exact<4>(s);
    case 8: return exact<8>(s);
    case 12: return ends<8>(s);
    case 16: return exact<16>(s);
    case 24: return ends<16>(s);
    case 32: return exact<32>(s);
    case 48: return exact<48>(s);
    case 64: return exact<64>(s);
  }
  if (s.length > 128)
    return each(s, [n = static_cast<std::size_t>(s.length)](std::byte* to, const std::byte* from) {
      __builtin_memcpy(to, from, n);
    });
  if (s.length > 64) return ends<64>(s);
  if (s.length > 32) return ends<32>(s);
  if (s.length > 16) return ends<16>(s);
  if (s.length > 8) return ends<8>(s);
  if (s.length > 4) return ends<4>(s);
  return ends<2>(s);  // 3
}

}  // namespace weft::datatype
