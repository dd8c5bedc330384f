// SPDX-License-Identifier: Apache-2.0
//
// The clock of everything here that takes time: the node's monotonic one, the same for all
// processes.
#pragma once

#include <time.h>

#include <cstdint>

namespace weft {

inline constexpr std::int64_t ns_per_us = 1'000, ns_per_s = 1'000'000'000;

inline std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * ns_per_s + t.tv_nsec;
}

inline timespec timespec_of(std::int64_t ns) {
  return {ns / ns_per_s, ns % ns_per_s};
}

}  // namespace weft
