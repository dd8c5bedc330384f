// SPDX-License-Identifier: Apache-2.0
//
// Elements of a random type in memory, and where each packed byte is; how long to try seeds.
#pragma once

#include <chrono>
#include <cstdlib>

#include "unit/datatype/random_type.h"

namespace weft::datatype::test {

using Bytes = std::vector<unsigned char>;

/// A buffer for `count` elements of a modelled type, with the packed positions of its bytes.
struct Arrayed {
  Modelled element;
  std::int64_t count;
  Map map;  // of all elements
  std::int64_t low = 0, high = 0;
  Bytes memory;

  Arrayed(Modelled m, std::int64_t n) : element(std::move(m)), count(n) {
    map.place(element.map, 0, n, element.type->extent);
    low = std::min(low, map.true_lb());
    high = std::max(high, map.true_ub());
    memory.resize(static_cast<std::size_t>(high - low) + 1);
  }
  void* data() { return memory.data() - low; }
  Buffer buffer() { return {data(), count, element.type}; }
  /// Index in memory of each packed byte.
  std::vector<std::size_t> positions() const {
    std::vector<std::size_t> at;
    for (const Piece& p : map.pieces)
      for (std::int64_t i = 0; i < p.bytes; ++i)
        at.push_back(static_cast<std::size_t>(p.disp + i - low));
    return at;
  }
};

inline Bytes random_bytes(RandomTypes& random, std::size_t n) {
  Bytes bytes(n);
  for (auto& b : bytes) b = static_cast<unsigned char>(random.pick(0, 255));
  return bytes;
}

/// FUZZ_SECONDS in the environment: so long each fuzzer goes on. Without it: a fixed number of
/// seeds.
class FuzzTime {
 public:
  bool is_left() const { return std::chrono::steady_clock::now() < end_; }

 private:
  static int seconds() {
    const char* text = std::getenv("FUZZ_SECONDS");
    return text != nullptr ? std::atoi(text) : 0;
  }
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(seconds());
};

}  // namespace weft::datatype::test
