// SPDX-License-Identifier: Apache-2.0
//
// SipHash-2-4 (Aumasson, Bernstein 2012): who does not know the key cannot tell a text's hash, even
// if he has seen those of others. For short texts: some 2 ns for every 8 bytes, and 10 more.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/err.h"

namespace weft {

struct HashKey {
  std::uint64_t half[2];
  bool operator==(const HashKey&) const = default;
};

/// From the system; an error where it has none.
Result<HashKey> random_key();

class SipState {
 public:
  explicit SipState(const HashKey& key)
      : v0_(key.half[0] ^ 0x736f6d6570736575),
        v1_(key.half[1] ^ 0x646f72616e646f6d),
        v2_(key.half[0] ^ 0x6c7967656e657261),
        v3_(key.half[1] ^ 0x7465646279746573) {}
  void add(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }
  std::uint64_t end() {
    v2_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  // Inlined, so that the state stays in registers.
  [[gnu::always_inline]] void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

/// Of all bytes in their order. The same number on every machine that weft runs on (little endian).
inline std::uint64_t keyed_hash(const HashKey& key, std::span<const std::byte> text) {
  SipState state(key);
  std::size_t at = 0;
  for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    state.add(word);
  }
  std::uint64_t last = std::uint64_t{text.size()} << 56;
  for (int shift = 0; at < text.size(); ++at, shift += 8)
    last |= std::to_integer<std::uint64_t>(text[at]) << shift;
  state.add(last);
  return state.end();
}

}  // namespace weft
