// SPDX-License-Identifier: Apache-2.0
//
// What the model would take, for each collective and power of two of bytes: computed when a
// communicator first has such a call, then remembered, so a call costs one look at a byte. It
// depends only on prices that the launcher wrote and on where the ranks are: all get the same.
//
// Asked only between ranks that have several levels between them. Where all are equally near, a
// table that was measured decides (worth_direct in select.cc): there the ways differ by what the
// model does not know (docs/cost-model.md).
#pragma once

#include <cstdint>

#include "model/machine.h"

namespace weft::coll {

struct Advice {
  static constexpr int size_classes = 41, calls = 10;
  model::Machine machine;
  std::uint8_t way[2][calls][size_classes] = {};

  bool worth_asking() const { return machine.levels > 1; }
};

}  // namespace weft::coll
