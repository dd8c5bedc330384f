// SPDX-License-Identifier: Apache-2.0
#include "channel/row.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace weft::channel {
namespace {

/// A row in memory of its own, with both ends.
struct Row {
  explicit Row(std::int64_t bytes, std::int64_t k)
      : shape(bytes, k),
        memory(static_cast<std::byte*>(
                   std::aligned_alloc(64, static_cast<std::size_t>(shape.row_bytes()))),
               std::free) {
    std::memset(memory.get(), 0, static_cast<std::size_t>(shape.row_bytes()));
  }
  RowShape shape;
  std::unique_ptr<std::byte, void (*)(void*)> memory;
  Sending sending{memory.get(), shape};
  Receiving receiving{memory.get(), shape};
};

TEST(Row, MessagesOf56BytesAndTheirNumberAreOneLine) {
  EXPECT_EQ(RowShape(0, 0).stride, 64);
  EXPECT_EQ(RowShape(56, 0).stride, 64);
  EXPECT_EQ(RowShape(57, 0).stride, 128);
  EXPECT_EQ(RowShape(64, 0).stride, 128);
  EXPECT_EQ(RowShape(4096, 3).row_bytes(), 128 + 4 * (4096 + 64));
}

TEST(Row, HasRoomForDegreePlusOne) {
  for (std::uint64_t k = 0; k < 5; ++k) {
    Row row(8, static_cast<std::int64_t>(k));
    for (std::uint64_t n = 0; n <= k; ++n) {
      ASSERT_TRUE(row.sending.has_room());
      row.sending.publish();
      EXPECT_EQ(row.sending.accepts(k), n < k);
    }
    EXPECT_FALSE(row.sending.has_room());
    row.receiving.take();
    EXPECT_TRUE(row.sending.accepts(k));
    EXPECT_FALSE(row.sending.has_room());  // it is held
    row.receiving.release();
    EXPECT_TRUE(row.sending.has_room());
  }
}

TEST(Row, IsOverWhenClosedAndEmpty) {
  Row row(8, 1);
  row.sending.publish();
  EXPECT_FALSE(row.receiving.is_over());
  row.sending.close();
  EXPECT_FALSE(row.receiving.is_over());
  row.receiving.take();
  EXPECT_TRUE(row.receiving.is_over());
  EXPECT_FALSE(row.sending.is_deserted());
  row.receiving.leave();
  EXPECT_TRUE(row.sending.is_deserted());
}

/// One thread sends, one receives and holds up to `held` messages; all bytes are looked at.
void stream(std::int64_t bytes, std::int64_t k, std::uint64_t held, std::uint64_t messages) {
  Row row(bytes, k);
  const auto n = static_cast<std::size_t>(bytes);
  std::thread sender([&] {
    for (std::uint64_t i = 1; i <= messages; ++i) {
      while (!row.sending.has_room()) std::this_thread::yield();
      std::memset(row.sending.buffer(), static_cast<int>(i * 7 % 251), n);
      row.sending.publish();
      while (!row.sending.accepts(static_cast<std::uint64_t>(k))) std::this_thread::yield();
    }
    row.sending.close();
  });
  std::uint64_t received = 0, wrong = 0, checked = 0;
  std::vector<std::byte*> holding;
  const auto let_go = [&] {
    const std::byte* oldest = holding.front();
    EXPECT_EQ(oldest, row.receiving.oldest());
    ++checked;
    for (std::size_t b = 0; b < n; ++b) wrong += oldest[b] != std::byte(checked * 7 % 251);
    row.receiving.release();
    holding.erase(holding.begin());
  };
  while (!row.receiving.is_over()) {
    if (!row.receiving.has_message()) {
      if (!holding.empty()) let_go();
      std::this_thread::yield();
      continue;
    }
    holding.push_back(row.receiving.take());
    ++received;
    if (holding.size() > held) let_go();
  }
  while (!holding.empty()) let_go();
  sender.join();
  EXPECT_EQ(received, messages);
  EXPECT_EQ(checked, messages);
  EXPECT_EQ(wrong, 0U);
}

TEST(Row, CarriesEverythingBetweenThreads) {
  for (const std::int64_t bytes : {0, 1, 8, 55, 56, 57, 64, 120, 500, 5000})
    for (const std::int64_t k : {0, 1, 2, 7})
      for (const std::uint64_t held : {0, 1, 3})
        if (held <= static_cast<std::uint64_t>(k)) stream(bytes, k, held, 300);
  stream(8, 16, 4, 20000);
}

}  // namespace
}  // namespace weft::channel
