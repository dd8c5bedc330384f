// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

/// FNV-1a over elements of up to 32 bits, so that all ranks get the same number for the same list.
template <class List>
constexpr std::uint64_t hash_of(const List& list) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto each : list) hash = (hash ^ static_cast<std::uint32_t>(each)) * 0x100000001b3;
  return hash;
}

}  // namespace weft
