// SPDX-License-Identifier: Apache-2.0
#include "hang/watch.h"

namespace weft::hang {

std::int64_t Watch::look() {
  return limit_ns_;
}

}  // namespace weft::hang
