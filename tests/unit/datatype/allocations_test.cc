// SPDX-License-Identifier: Apache-2.0
//
// pack, unpack and copy allocate nothing.
#include <gtest/gtest.h>

#include "unit/allocations.h"
#include "unit/datatype/random_type.h"

namespace weft::datatype::test {
namespace {

using std::int64_t;
using weft::test::allocations;
using Bytes = std::vector<unsigned char>;

TEST(Pack, NothingIsAllocated) {
  Context context;
  RandomTypes random(context, 42);
  for (int round = 0; round < 50; ++round) {
    const Modelled m = random.make(3);
    commit(*m.type);
    const int64_t low = std::min<int64_t>(0, m.map.true_lb());
    const auto size = static_cast<std::size_t>(std::max<int64_t>(0, m.map.true_ub()) - low);
    Bytes memory(size), other(size), packed(static_cast<std::size_t>(m.type->size));
    const long before = allocations();
    pack({memory.data() - low, 1, m.type}, 0, packed.data(), m.type->size);
    unpack({other.data() - low, 1, m.type}, 0, packed.data(), m.type->size);
    copy({memory.data() - low, 1, m.type}, {other.data() - low, 1, m.type}, m.type->size);
    EXPECT_EQ(allocations(), before);
    random.give_up(m);
  }
  EXPECT_GT(allocations(), 0);
}

}  // namespace
}  // namespace weft::datatype::test
