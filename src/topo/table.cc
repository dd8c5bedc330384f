// SPDX-License-Identifier: Apache-2.0
#include "topo/table.h"

#include <algorithm>
#include <cstring>

namespace weft::topo {
namespace {

/// The part that holds all of these CPUs, or -1.
int part_of(const Level& level, std::span<const int> cpus) {
  const int part = level.part(cpus.front());
  const auto elsewhere = [&](int cpu) { return level.part(cpu) != part; };
  return std::any_of(cpus.begin(), cpus.end(), elsewhere) ? -1 : part;
}

}  // namespace

void fill_table(const Topology& topology, std::span<const Slice> slices, HierarchyTable& table) {
  if (slices.empty()) return;
  table.ranks = static_cast<std::uint32_t>(slices.size());
  int l = 0;
  for (const Level& level : topology.levels()) {
    if (l == HierarchyTable::most_levels) break;
    std::strncpy(table.names[l], level.name.c_str(), HierarchyTable::name_bytes - 1);
    for (std::size_t rank = 0; rank < slices.size(); ++rank)
      table.row(l)[rank] = part_of(level, slices[rank].cpus());
    ++l;
  }
  table.levels = static_cast<std::uint32_t>(l);
}

}  // namespace weft::topo
