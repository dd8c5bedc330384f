// SPDX-License-Identifier: Apache-2.0
// A hierarchy with memory of its own, for `ranks` ranks sliced over a machine.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "topo/table.h"

namespace weft::topo {

class OwnTable {
 public:
  OwnTable(const Topology& topology, int ranks)
      : memory_(HierarchyTable::bytes(static_cast<std::size_t>(ranks)) / 8 + 1) {
    fill_table(topology, slices(topology, ranks), table());
  }
  OwnTable(const char* machine, int ranks) : OwnTable(declared(machine), ranks) {}
  HierarchyTable& table() { return *reinterpret_cast<HierarchyTable*>(memory_.data()); }
  Hierarchy view() { return Hierarchy(table()); }

 private:
  static Topology declared(const char* machine) {
    Result<Topology> made = Topology::synthetic(machine);
    EXPECT_TRUE(made) << machine;
    return made.value;
  }
  std::vector<std::uint64_t> memory_;  // zero
};

}  // namespace weft::topo
