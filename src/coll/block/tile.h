// SPDX-License-Identifier: Apache-2.0
//
// How a vector is divided between ranks that reduce it together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/limits.h"

namespace weft::coll {

/// Part `i` of `count` elements in `parts` parts that begin at cache lines.
struct Tile {
  std::int64_t begin, end;
  Tile(std::int64_t count, std::int64_t element_bytes, int parts, int i) {
    const std::int64_t line = std::max<std::int64_t>(1, 64 / element_bytes);
    const std::int64_t each = ((count + parts - 1) / parts + line - 1) / line * line;
    begin = std::min(count, i * each);
    end = std::min(count, begin + each);
  }
};

}  // namespace weft::coll
