// SPDX-License-Identifier: Apache-2.0
//
// Grids laid over the hierarchy: every rank has one point, and lines between far ranks are counted
// before and after.
#include "topo/grid.h"

#include <gtest/gtest.h>

#include <numeric>

#include "unit/topo/table.h"

namespace weft::topo {
namespace {

struct Lines {
  long before, after;  // that leave the parts of a level
  friend bool operator==(const Lines&, const Lines&) = default;
};
void PrintTo(const Lines& l, std::ostream* out) {
  *out << l.before << " -> " << l.after;
}

Lines lines(const Hierarchy& h, const char* level, std::vector<int> dims,
            std::vector<int> periods = {}, bool backwards = false) {
  periods.resize(dims.size());
  const Grid grid{dims, periods};
  const int n = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(n)), at_point;
  std::iota(ranks.begin(), ranks.end(), 0);
  if (backwards) std::reverse(ranks.begin(), ranks.end());
  std::vector<bool> seen(ranks.size());
  for (const int i : place_grid(h, ranks, grid)) {
    EXPECT_FALSE(seen.at(static_cast<std::size_t>(i))) << "two points of one rank";
    seen[static_cast<std::size_t>(i)] = true;
    at_point.push_back(ranks[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(at_point.size(), ranks.size());
  const auto leaving = [&](std::span<const std::int32_t> placed) {
    const std::vector<long> counts = count_lines(h, placed, grid);
    return std::accumulate(counts.begin(), counts.begin() + h.level_named(level), 0L);
  };
  return {leaving(ranks), leaving(at_point)};
}

TEST(PlaceGrid, FourPackagesOfEight) {
  OwnTable table("pack:4 core:8 pu:1", 32);
  const Hierarchy h = table.view();
  EXPECT_EQ(lines(h, "Package", {4, 8}), (Lines{24, 12}));
  EXPECT_EQ(lines(h, "Package", {8, 4}), (Lines{12, 12})) << "rows of two are as good as boxes";
  EXPECT_EQ(lines(h, "Package", {2, 16}), (Lines{18, 6}));
  EXPECT_EQ(lines(h, "Package", {32}), (Lines{3, 3}));
  EXPECT_EQ(lines(h, "Package", {4, 8}, {1, 1}), (Lines{32, 16}));
  EXPECT_EQ(lines(h, "Package", {4, 2, 4}), (Lines{24, 16}));
  EXPECT_EQ(lines(h, "Package", {4, 8}, {}, true), (Lines{24, 12})) << "ranks in any order";
}

TEST(PlaceGrid, EveryLevel) {
  OwnTable table("pack:2 l3:4 core:4 pu:1", 32);
  const Hierarchy h = table.view();
  const Lines packages = lines(h, "Package", {4, 8}), caches = lines(h, "L3Cache", {4, 8});
  EXPECT_EQ(packages, (Lines{8, 4}));
  EXPECT_EQ(caches, (Lines{28, 20})) << "boxes of 2x2";
}

TEST(PlaceGrid, KeepsTheOrderWhereItCannotImprove) {
  OwnTable uneven("pack:4 core:8 pu:1", 30), odd("pack:2 core:6 pu:1", 12), none("core:8 pu:1", 8);
  EXPECT_EQ(lines(uneven.view(), "Package", {5, 6}).before,
            lines(uneven.view(), "Package", {5, 6}).after);
  EXPECT_EQ(lines(none.view(), "Core", {2, 4}), (Lines{10, 10}));
  // No box of 6 divides 4x3 but 2x3 and 4 x 1.5: the first is the order itself.
  EXPECT_EQ(lines(odd.view(), "Package", {4, 3}), (Lines{3, 3}));
  EXPECT_EQ(lines(odd.view(), "Package", {3, 4}), (Lines{5, 3}));
  EXPECT_EQ(lines(odd.view(), "Package", {}), (Lines{0, 0}));
  EXPECT_EQ(lines(odd.view(), "Package", {1, 12, 1}, {1, 1, 1}), (Lines{2, 2}));
}

TEST(PlaceGrid, NeverMoreFarLines) {
  for (const char* machine :
       {"pack:2 l3:2 core:3 pu:1", "pack:3 l3:2 core:2 pu:2", "numa:4 core:4 pu:1"})
    for (int ranks = 1; ranks <= 24; ++ranks) {
      OwnTable table(machine, ranks);
      const Hierarchy h = table.view();
      for (int a = 1; a <= ranks; ++a)
        for (int b = 1; a * b <= ranks; ++b)
          for (const int periodic : {0, 1}) {
            const Lines l = lines(h, std::string(h.name(1)).c_str(), {a, b}, {periodic, periodic});
            EXPECT_LE(l.after, l.before) << machine << " " << a << "x" << b;
          }
    }
}

}  // namespace
}  // namespace weft::topo
