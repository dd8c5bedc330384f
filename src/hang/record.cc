// SPDX-License-Identifier: Apache-2.0
#include "hang/record.h"

#include <cstring>

namespace weft::hang {

void Slot::write(const Record& record) {
  const auto* from = reinterpret_cast<const std::byte*>(&record);
  const std::uint32_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i * 8, 8);
    // release: a reader that sees this word sees the odd version; pairs with read()
    words_[i].store(word, std::memory_order_release);
  }
  version_.store(version + 2, std::memory_order_release);
}

bool Slot::read(Record* out, std::uint64_t* looks) const {
  if (words_[0].load(std::memory_order_relaxed) == 0) return false;  // Record::wait: it is free
  auto* to = reinterpret_cast<std::byte*>(out);
  // acquire: pairs with count_look(), give_back() and the last store of write()
  *looks = looks_.load(std::memory_order_acquire);
  const std::uint32_t before = version_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < words; ++i) {
    // acquire: the second look at the version comes after all words
    const std::uint64_t word = words_[i].load(std::memory_order_acquire);
    std::memcpy(to + i * 8, &word, 8);
  }
  return before % 2 == 0 && out->wait != 0 && version_.load(std::memory_order_relaxed) == before;
}

void Slot::give_back() {
  const std::uint32_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  words_[0].store(0, std::memory_order_release);  // Record::wait
  version_.store(version + 2, std::memory_order_release);
  held_.store(0, std::memory_order_release);
}

Slot* Board::try_take() {
  for (std::uint32_t i = 0; i < slots; ++i) {
    if (!slot[i].try_take()) continue;
    std::uint32_t before = used.load(std::memory_order_relaxed);
    while (before <= i && !used.compare_exchange_weak(before, i + 1, std::memory_order_relaxed)) {
    }
    return &slot[i];
  }
  return nullptr;
}

}  // namespace weft::hang
