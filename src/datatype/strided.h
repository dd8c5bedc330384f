// SPDX-License-Identifier: Apache-2.0
//
// The innermost loops of pack, unpack and copy: blocks of one length in nested regular distances.
// The block length selects a loop whose copies have a length known to the compiler, so that a block
// of 8 bytes costs one load and one store and not a call of memcpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/copy.h"
#include "datatype/layout.h"

namespace weft::datatype {

/// Blocks of `length` bytes in `levels` nested loops; level[0] is the innermost.
struct Strided {
  struct Level {
    std::int64_t n, to_stride, from_stride;
  };
  std::byte* to;
  const std::byte* from;
  std::int64_t length;
  int levels = 1;
  Level level[max_levels + 1];
};

/// Copy one block; small ones without a call: their first and last bytes, which may overlap.
[[gnu::always_inline]] inline void copy_block(std::byte* to, const std::byte* from,
                                              std::int64_t length) {
  const auto ends = [&]<class Word>(Word) {
    const std::int64_t last = length - static_cast<std::int64_t>(sizeof(Word));
    Word a, b;
    __builtin_memcpy(&a, from, sizeof a);
    __builtin_memcpy(&b, from + last, sizeof b);
    __builtin_memcpy(to, &a, sizeof a);
    __builtin_memcpy(to + last, &b, sizeof b);
  };
  if (length > 32) return copy_bytes(to, from, static_cast<std::size_t>(length));
  if (length >= 16) return ends(static_cast<unsigned __int128>(0));
  if (length >= 8) return ends(std::uint64_t{0});
  if (length >= 4) return ends(std::uint32_t{0});
  if (length >= 2) return ends(std::uint16_t{0});
  if (length == 1) *to = *from;
}

namespace strided_detail {

/// One row; ToStride 0: as the level says, else known (blocks follow each other without a gap).
template <std::int64_t ToStride, class CopyBlock>
[[gnu::always_inline]] inline void row(const Strided::Level& level, std::byte* to,
                                       const std::byte* from, CopyBlock copy_block) {
  const std::int64_t ts = ToStride != 0 ? ToStride : level.to_stride;
  const std::int64_t fs = level.from_stride;
  std::int64_t n = level.n;
  for (; n >= 4; n -= 4) {
    copy_block(to, from);
    copy_block(to + ts, from + fs);
    copy_block(to + 2 * ts, from + 2 * fs);
    copy_block(to + 3 * ts, from + 3 * fs);
    to += 4 * ts;
    from += 4 * fs;
  }
  for (; n > 0; --n) {
    copy_block(to, from);
    to += ts;
    from += fs;
  }
}

template <std::int64_t ToStride, class CopyBlock>
[[gnu::always_inline]] inline void plane(const Strided::Level* level, std::byte* to,
                                         const std::byte* from, CopyBlock copy) {
  for (std::int64_t i = level[1].n; i > 0; --i) {
    row<ToStride>(level[0], to, from, copy);
    to += level[1].to_stride;
    from += level[1].from_stride;
  }
}

/// Loops level[k] to level[0]; three of them without a call.
template <std::int64_t ToStride, class CopyBlock>
void nest(const Strided::Level* level, int k, std::byte* to, const std::byte* from,
          CopyBlock copy) {
  if (k == 0) return row<ToStride>(level[0], to, from, copy);
  if (k == 1) return plane<ToStride>(level, to, from, copy);
  for (std::int64_t i = level[k].n; i > 0; --i) {
    if (k == 2)
      plane<ToStride>(level, to, from, copy);
    else
      nest<ToStride>(level, k - 1, to, from, copy);
    to += level[k].to_stride;
    from += level[k].from_stride;
  }
}

template <std::int64_t Length>
void exact(const Strided& s) {
  const auto copy = [](std::byte* to, const std::byte* from) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(Length));
  };
  if (s.level[0].to_stride == Length)
    nest<Length>(s.level, s.levels - 1, s.to, s.from, copy);
  else
    nest<0>(s.level, s.levels - 1, s.to, s.from, copy);
}

/// Lengths from Half to 2 Half: the first and the last Half bytes, which may overlap.
template <std::int64_t Half>
void ends(const Strided& s) {
  const std::int64_t last = s.length - Half;
  nest<0>(s.level, s.levels - 1, s.to, s.from, [last](std::byte* to, const std::byte* from) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(Half));
    __builtin_memcpy(to + last, from + last, static_cast<std::size_t>(Half));
  });
}

}  // namespace strided_detail

inline void copy_strided(const Strided& s) {
  using namespace strided_detail;
  switch (s.length) {
    case 1:
      return exact<1>(s);
    case 2:
      return exact<2>(s);
    case 4:
      return exact<4>(s);
    case 8:
      return exact<8>(s);
    case 12:
      return exact<12>(s);
    case 16:
      return exact<16>(s);
    case 24:
      return exact<24>(s);
    case 32:
      return exact<32>(s);
  }
  if (s.length > 128) {
    const auto n = static_cast<std::size_t>(s.length);
    return nest<0>(s.level, s.levels - 1, s.to, s.from,
                   [n](std::byte* to, const std::byte* from) { __builtin_memcpy(to, from, n); });
  }
  if (s.length >= 64) return ends<64>(s);
  if (s.length > 32) return ends<32>(s);
  if (s.length > 16) return ends<16>(s);
  if (s.length > 8) return ends<8>(s);
  if (s.length > 4) return ends<4>(s);
  return ends<2>(s);  // 3
}

/// n blocks of one length between a dense side and places at disps[i] of the other.
template <bool Gather>
[[gnu::always_inline]] inline void copy_scattered(std::byte* dense, std::byte* base,
                                                  const std::int64_t* disps, std::int64_t n,
                                                  std::int64_t length) {
  const auto all = [&](auto copy) {
    for (std::int64_t i = 0; i < n; ++i, dense += length)
      Gather ? copy(dense, base + disps[i]) : copy(base + disps[i], dense);
  };
  const auto exact = [&]<std::size_t Length>() {
    all([](std::byte* to, const std::byte* from) { __builtin_memcpy(to, from, Length); });
  };
  switch (length) {
    case 4:
      return exact.template operator()<4>();
    case 8:
      return exact.template operator()<8>();
    case 12:
      return exact.template operator()<12>();
    case 16:
      return exact.template operator()<16>();
    case 24:
      return exact.template operator()<24>();
    case 32:
      return exact.template operator()<32>();
  }
  all([length](std::byte* to, const std::byte* from) { copy_block(to, from, length); });
}

}  // namespace weft::datatype
