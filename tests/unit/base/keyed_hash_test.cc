// SPDX-License-Identifier: Apache-2.0
//
// The reference vectors of SipHash-2-4: key 00 01 .. 0f, texts 00 01 .. of growing length. That of
// 15 bytes stands in the paper, appendix A.
#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

constexpr HashKey key{{0x0706050403020100, 0x0f0e0d0c0b0a0908}};

std::uint64_t hash_of_bytes(std::size_t n) {
  std::vector<std::byte> text(n);
  for (std::size_t i = 0; i < n; ++i) text[i] = static_cast<std::byte>(i);
  return keyed_hash(key, text);
}

TEST(KeyedHash, is_siphash_2_4) {
  EXPECT_EQ(hash_of_bytes(0), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(hash_of_bytes(1), 0x74f839c593dc67fdu);
  EXPECT_EQ(hash_of_bytes(7), 0xab0200f58b01d137u);
  EXPECT_EQ(hash_of_bytes(8), 0x93f5f5799a932462u);
  EXPECT_EQ(hash_of_bytes(15), 0xa129ca6149be45e5u);
}

TEST(KeyedHash, another_key_another_hash) {
  const HashKey other{{key.half[0] ^ 1, key.half[1]}};
  const std::vector<std::byte> text(64);
  EXPECT_NE(keyed_hash(key, text), keyed_hash(other, text));
}

TEST(KeyedHash, random_keys_differ) {
  const Result<HashKey> a = random_key(), b = random_key();
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(a.value.half[0] == b.value.half[0] || a.value.half[1] == b.value.half[1]);
}

}  // namespace
}  // namespace weft
