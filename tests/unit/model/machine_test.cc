// SPDX-License-Identifier: Apache-2.0
//
// Which levels a communicator's ranks have between them, on declared machines.
#include "model/machine.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "unit/topo/table.h"

namespace weft::model {
namespace {
/// "L3Cache*4 Machine*2": the levels of all ranks from the inside out.
std::string levels(const char* declared, int ranks, int members = 0) {
  topo::OwnTable table(declared, ranks);
  std::vector<std::int32_t> all(static_cast<std::size_t>(members > 0 ? members : ranks));
  std::iota(all.begin(), all.end(), 0);
  const Machine x = machine_of(built_in(), table.view(), all);
  EXPECT_EQ(x.ranks(), static_cast<int>(all.size()));
  std::string text;
  for (int l = 0; l < x.levels; ++l)
    text += (l > 0 ? " " : "") + std::string(x.level[l].name) + "*" + std::to_string(x.fan[l]);
  return text;
}

TEST(Machine, LevelsThatDivideRanks) {
  EXPECT_EQ(levels("pack:4 core:8 pu:1", 32), "Package*8 Machine*4");
  EXPECT_EQ(levels("pack:2 [numa] l3:2 core:4 pu:1", 16), "L3Cache*4 NUMANode*2 Machine*2");
  EXPECT_EQ(levels("pack:1 l3:1 core:2 pu:1", 2), "L3Cache*2");
  EXPECT_EQ(levels("pack:1 l3:2 l2:2 core:2 pu:1", 8), "L2Cache*2 L3Cache*2 NUMANode*2");
}

TEST(Machine, PartOfTheRanks) {
  EXPECT_EQ(levels("pack:4 core:8 pu:1", 32, 8), "Package*8");
  EXPECT_EQ(levels("pack:4 core:8 pu:1", 32, 12), "Package*8 Machine*2");
  EXPECT_EQ(levels("pack:4 core:8 pu:1", 4), "Machine*4") << "a rank in each package";
}

TEST(Machine, UnknownIsOneLevel) {
  std::vector<std::uint64_t> zero(topo::HierarchyTable::bytes(3) / 8 + 1);
  const topo::Hierarchy nothing(*reinterpret_cast<topo::HierarchyTable*>(zero.data()));
  const std::int32_t members[] = {0, 1, 2};
  const Machine x = machine_of(built_in(), nothing, members);
  EXPECT_EQ(x.levels, 1);
  EXPECT_EQ(x.ranks(), 3);
}

TEST(Machine, BuiltInPricesGrowOutwards) {
  const Parameters& prices = built_in();
  for (int l = 1; l < prices.levels; ++l) {
    EXPECT_GT(prices.level[l].line(), prices.level[l - 1].line()) << prices.level[l].name;
    EXPECT_GE(prices.level[l].B, prices.level[l - 1].B) << prices.level[l].name;
  }
}

TEST(Machine, PricesOfLevelsThatWereNotMeasured) {
  Parameters own;
  own.levels = 1;
  own.level[0] = {"L3Cache", 1, 2, 3};
  EXPECT_EQ(own.at("L3Cache").a, 1);
  EXPECT_EQ(own.at("Package").a, built_in().at("Package").a);
  EXPECT_EQ(own.at("Nothing").a, built_in().at("Machine").a);
}

}  // namespace
}  // namespace weft::model
