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

Machine with_cache(double lines) {
  Machine x;
  x.levels = 1;
  x.level[0] = {"L3Cache", 50, 4, 1};
  x.fan[0] = 2;
  x.copy = 1;
  x.reduce = 2;
  x.memory = {6, 5};
  x.cache_lines = lines;
  return x;
}

TEST(Capacity, WhatFitsCostsWhatItCosts) {
  for (const double lines : {1.0, 100.0}) {
    const Machine x = with_cache(100).holding_lines(lines, Others::in_memory);
    EXPECT_EQ(x.copy, 1);
    EXPECT_EQ(x.reduce, 2);
    EXPECT_EQ(x.level[0].b, 4);
  }
}

TEST(Capacity, TwiceTheCacheComesFromMemory) {
  const Machine own = with_cache(100).holding_lines(200, Others::in_cache);
  EXPECT_EQ(own.copy, 10) << "two ranks share 1/B = 1/5";
  EXPECT_EQ(own.reduce, 2);
  EXPECT_EQ(with_cache(100).holding_lines(200, Others::in_memory).reduce, 2 + 9);
  EXPECT_EQ(own.level[0].b, 4);
  EXPECT_EQ(with_cache(100).holding_lines(200, Others::in_memory).level[0].b, 0)
      << "fetched from memory instead";
  EXPECT_EQ(with_cache(100).holding_lines(150, Others::in_cache).copy, 5.5) << "half of it";
}

TEST(Capacity, PastTheCachesWhereThatIsCheaper) {
  Machine x = with_cache(100);
  EXPECT_FALSE(x.streams(1e9)) << "no price";
  x.memory.past = 3;
  EXPECT_FALSE(x.streams(199));
  EXPECT_TRUE(x.streams(200));
  EXPECT_EQ(x.holding_lines(200, Others::in_memory).copy, 6);
  EXPECT_EQ(x.holding_lines(200, Others::in_cache).copy, 10) << "into the block it does not go";
  x.memory.past = 5;
  EXPECT_FALSE(x.streams(200)) << "no gain";
}

TEST(Capacity, UnknownCachesHoldEverything) {
  EXPECT_EQ(with_cache(0).holding_lines(1e12, Others::in_memory).copy, 1);
  Machine no_price = with_cache(100);
  no_price.memory = {};
  EXPECT_EQ(no_price.holding_lines(1e12, Others::in_memory).copy, 1);
}

TEST(Capacity, RanksShareTheLargestCache) {
  Parameters prices = built_in();
  prices.caches = 2;
  prices.cache[0] = {1000, 1, 2};
  prices.cache[1] = {8000, 4, 3};
  topo::OwnTable table("pack:1 core:8 pu:1", 8);
  const std::int32_t members[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto share = [&](std::size_t ranks) {
    return machine_of(prices, table.view(), std::span(members).first(ranks)).cache_lines;
  };
  EXPECT_EQ(share(8), 2000);
  EXPECT_EQ(share(2), 4000);
}

TEST(Capacity, BulkDataLeavesTheL2AsFarAsTheCacheAroundHasRoom) {
  constexpr double KiB = 1024 / line_bytes;
  const auto bulk_of = [](int ranks, std::initializer_list<Cache> caches) {
    Parameters prices = built_in();
    for (const Cache& cache : caches) prices.cache[prices.caches++] = cache;
    return bulk_bytes(prices, ranks) / 1024;
  };
  EXPECT_EQ(bulk_of(2, {{1024 * KiB, 1, 2}, {32768 * KiB, 2, 3}}), 2048);
  EXPECT_EQ(bulk_of(64, {{512 * KiB, 1, 2}, {32768 * KiB, 64, 3}}), 512 + 256) << "a small share";
  EXPECT_EQ(bulk_of(2, {{2048 * KiB, 2, 2}}), 1024) << "a shared L2, nothing around it";
  EXPECT_EQ(bulk_of(2, {}), 1024) << "not known";
}

TEST(Doubts, BuiltInPricesHaveNone) {
  EXPECT_EQ(doubts_about(built_in()), "");
}

TEST(Doubts, WhatABusyMachineMeasures) {
  const auto doubt = [](auto&& change) {
    Parameters p = built_in();
    change(p);
    return doubts_about(p);
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(doubt([](Parameters& p) { p.level[3].a = 11e-6; }), "L3Cache a line took more"));
  EXPECT_TRUE(says(doubt([](Parameters& p) { p.level[3].a = p.level[3].b = 0; }), "no time"));
  EXPECT_TRUE(says(doubt([](Parameters& p) { p.level[7].b = 50e-9; }), "as from memory"));
  EXPECT_TRUE(says(doubt([](Parameters& p) { p.level[6].a = 10e-9; }), "nearer to each other"));
  EXPECT_TRUE(says(doubt([](Parameters& p) { p.copy = 0; }), "no time"));
  EXPECT_TRUE(says(doubt([](Parameters& p) { p.reduce = 40e-9; }), "one from memory"));
  EXPECT_TRUE(says(doubt([](Parameters& p) { p.turn = 1e-3; }), "200 us"));
}

TEST(Network, RanksShareWhatPairsLeave) {
  const Network one{.latency = 5, .gap = 2, .line = 3};
  Network wide = one;
  wide.pairs = 4;
  EXPECT_EQ(one.keeps(2), one.takes(2));
  EXPECT_EQ(wide.keeps(2), 2);
  EXPECT_EQ(one.shared_by(3).gap, 6);
  EXPECT_EQ(one.shared_by(3).line, 9);
  EXPECT_EQ(wide.shared_by(2).gap, 2);
  EXPECT_EQ(wide.shared_by(2).pairs, 2);
  EXPECT_EQ(wide.shared_by(8).line, 6);
  EXPECT_EQ(wide.shared_by(8).pairs, 1);
  EXPECT_EQ(wide.shared_by(8).latency, 5);
}

}  // namespace
}  // namespace weft::model
