// SPDX-License-Identifier: Apache-2.0
//
// Filling in the hierarchy's table: which part of each level holds the slice of each rank.
#pragma once

#include <span>

#include "topo/hierarchy.h"
#include "topo/slices.h"
#include "topo/topology.h"

namespace weft::topo {

/// `table` has room for slices.size() ranks. Without slices nothing is known.
void fill_table(const Topology& topology, std::span<const Slice> slices, HierarchyTable& table);

}  // namespace weft::topo
