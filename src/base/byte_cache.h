// SPDX-License-Identifier: Apache-2.0
//
// Memory for payloads of changing sizes: powers of two that are kept for the next use, so that a
// warm rank does not call the allocator. One owner at a time (its engine's lock).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/assert.h"

namespace weft {

class ByteCache {
 public:
  ByteCache() = default;
  ByteCache(const ByteCache&) = delete;
  ByteCache& operator=(const ByteCache&) = delete;
  ~ByteCache() {
    for (Free* list : free_)
      while (list != nullptr) {
        Free* next = list->next;
        std::free(list);
        list = next;
      }
  }

  /// Room for `bytes`. Give it back with the same number.
  std::byte* take(std::size_t bytes) {
    const int c = size_class(bytes);
    if (c >= classes || free_[c] == nullptr) return fresh(c >= classes ? bytes : smallest << c);
    Free* piece = free_[c];
    free_[c] = piece->next;
    kept_ -= smallest << c;
    return reinterpret_cast<std::byte*>(piece);
  }
  void give(std::byte* memory, std::size_t bytes) {
    const int c = size_class(bytes);
    if (c >= classes || kept_ + (smallest << c) > kept_max) return std::free(memory);
    free_[c] = new (memory) Free{free_[c]};
    kept_ += smallest << c;
  }

 private:
  struct Free {
    Free* next;
  };
  static std::byte* fresh(std::size_t bytes) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) out_of_memory("a message that no receive has asked for yet", bytes);
    return static_cast<std::byte*>(memory);
  }
  static constexpr std::size_t smallest = 64, kept_max = std::size_t{4} << 20;
  static constexpr int classes = 15;  // to 1 MiB
  static int size_class(std::size_t bytes) {
    return bytes <= smallest ? 0 : std::bit_width((bytes - 1) / smallest);
  }

  Free* free_[classes] = {};
  std::size_t kept_ = 0;
};

}  // namespace weft
