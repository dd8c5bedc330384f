// SPDX-License-Identifier: Apache-2.0
//
// Where ranks run when the user says so, in the words of other launchers: ranks are mapped, one
// after the other, to the parts of one level of the machine, and bound to a part of another level
// there. Without a wish it is slices.h.
#pragma once

#include <vector>

#include "base/err.h"
#include "topo/slices.h"

namespace weft::topo {

/// A level of the machine, by the name that hwloc gives it.
enum class Unit { slice, hwthread, core, l2cache, l3cache, numa, package, machine };

struct Placement {
  Unit map = Unit::slice;   // slice: consecutive ranks in neighbouring slices
  Unit bind = Unit::slice;  // slice: the cores of a part are divided among the ranks mapped to it
  int width = 1;            // so many parts of `bind`, one after the other
  bool fill = false;        // consecutive ranks share a part; else each gets the next part
};

/// One slice per rank. Fails where the machine lacks a level, or a part has fewer than `width`.
Result<std::vector<Slice>> place(const Topology& topology, int nranks, const Placement& wish);

}  // namespace weft::topo
