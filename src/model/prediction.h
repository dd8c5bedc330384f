// SPDX-License-Identifier: Apache-2.0
//
// A predicted time as the sum of its parts, so that a reader can check it; and the sizes at which
// the best of several changes.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::model {

struct Part {
  const char* what;
  const char* source;  // the equation, or the formula in words
  double seconds;
};

class Prediction {
 public:
  Prediction& add(const char* what, const char* source, double seconds) {
    if (seconds > 0) parts_.push_back({what, source, seconds});
    return *this;
  }
  double seconds() const {
    double sum = 0;
    for (const Part& part : parts_) sum += part.seconds;
    return sum;
  }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

/// From this size on `name` holds, until the next range begins.
template <class Name>
struct Range {
  std::int64_t from_bytes;
  Name name;
};

/// The ranges of sizes from `first` to `last` bytes over which `name_at(bytes)` is the same; exact
/// to a byte where a change lies between two steps of a quarter of a power of two.
template <class NameAt>
auto ranges(std::int64_t first, std::int64_t last, NameAt&& name_at) {
  std::vector<Range<decltype(name_at(first))>> out{{first, name_at(first)}};
  std::int64_t known = first;
  while (known < last) {
    const std::int64_t next = known + 1 > last - known / 4 ? last : known + 1 + known / 4;
    const auto name = name_at(next);
    if (name != out.back().name) {
      std::int64_t low = known, high = next;  // changes in (low, high]
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (name_at(middle) == out.back().name ? low : high) = middle;
      }
      out.push_back({high, name_at(high)});
      known = high;
    } else {
      known = next;
    }
  }
  return out;
}

}  // namespace weft::model
