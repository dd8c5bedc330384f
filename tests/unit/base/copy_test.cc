// SPDX-License-Identifier: Apache-2.0
//
// Copies past the caches bring every byte, and no other, whatever the addresses and lengths.
#include "base/copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

TEST(Copy, PastTheCaches) {
  constexpr std::size_t room = 1024;
  std::vector<unsigned char> from(room);
  for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<unsigned char>(i * 7 + 1);
  for (const std::size_t to_at : {0, 1, 15, 16, 63, 64})
    for (const std::size_t from_at : {0, 3, 16, 64})
      for (std::size_t bytes = 0; bytes < 300; ++bytes) {
        std::vector<unsigned char> to(room, 0), wanted(room, 0);
        std::memcpy(wanted.data() + to_at, from.data() + from_at, bytes);
        stream_bytes(to.data() + to_at, from.data() + from_at, bytes);
        ASSERT_EQ(to, wanted) << bytes << " bytes from " << from_at << " to " << to_at;
      }
}

}  // namespace
}  // namespace weft
