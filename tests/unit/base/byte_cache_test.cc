// SPDX-License-Identifier: Apache-2.0
#include "base/byte_cache.h"

#include <gtest/gtest.h>

#include <cstring>

namespace weft {
namespace {

TEST(ByteCache, KeepsEachSizeForTheNextUse) {
  ByteCache cache;
  for (const std::size_t bytes : {1ul, 64ul, 65ul, 4096ul, 100'000ul, 1ul << 20}) {
    std::byte* first = cache.take(bytes);
    std::memset(first, 1, bytes);
    cache.give(first, bytes);
    EXPECT_EQ(cache.take(bytes), first) << bytes;
    cache.give(first, bytes);
  }
}

TEST(ByteCache, GivesTheFullSizeOfItsClass) {
  ByteCache cache;
  cache.give(cache.take(65), 65);
  std::byte* again = cache.take(128);  // the same class
  std::memset(again, 1, 128);
  cache.give(again, 128);
}

}  // namespace
}  // namespace weft
