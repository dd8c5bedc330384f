// SPDX-License-Identifier: Apache-2.0
//
// How the node is divided and in which parts each rank of the job runs: levels from the whole
// machine to one hardware thread, named as hwloc names them. The launcher writes the table once
// into the job's memory (topo/table.cc), ranks read it there, without hwloc and without asking each
// other. Pure data; all zero is legal and says that nothing is known (a rank alone, or another
// launcher): then there is one level, the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::topo {

/// The table's head, as it lies in memory; std::int32_t[most_levels][ranks] follow, row by level.
struct HierarchyTable {
  static constexpr int most_levels = 16, name_bytes = 24;
  std::uint32_t levels;
  std::uint32_t ranks;
  char names[most_levels][name_bytes];

  std::int32_t* row(int level) {
    return reinterpret_cast<std::int32_t*>(this + 1) + static_cast<std::size_t>(level) * ranks;
  }
  static std::size_t bytes(std::size_t ranks) {
    return sizeof(HierarchyTable) + most_levels * ranks * sizeof(std::int32_t);
  }
};

/// A view of a table; cheap to make and to copy.
class Hierarchy {
 public:
  explicit Hierarchy(HierarchyTable& table) : table_(&table) {}

  /// Level 0 is the whole machine; each further one has at least as many parts.
  int levels() const { return table_->levels > 0 ? static_cast<int>(table_->levels) : 1; }
  std::string_view name(int level) const {
    return table_->levels > 0 ? table_->names[level] : "Machine";
  }
  /// The level of that name, e.g. "NUMANode"; -1 if the machine has none.
  int level_named(std::string_view name) const {
    for (int l = 0; l < levels(); ++l)
      if (this->name(l) == name) return l;
    return -1;
  }
  /// The only part of a level in which the rank runs; -1 if its CPUs lie in several, or in none, or
  /// if it was spawned and so is not bound.
  int group_of(int level, int world_rank) const {
    if (level == 0) return 0;
    return static_cast<std::uint32_t>(world_rank) < table_->ranks ? table_->row(level)[world_rank]
                                                                  : -1;
  }
  /// The innermost level at which two ranks are in the same part.
  int deepest_common(int a, int b) const {
    int l = levels() - 1;
    while (l > 0 && (group_of(l, a) < 0 || group_of(l, a) != group_of(l, b))) --l;
    return l;
  }

 private:
  HierarchyTable* table_;
};

}  // namespace weft::topo
