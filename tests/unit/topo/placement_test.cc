// SPDX-License-Identifier: Apache-2.0
#include "topo/placement.h"

#include <gtest/gtest.h>

#include "base/cpus.h"

namespace weft::topo {
namespace {

// CPUs 0-7 in package 0, 8-15 in package 1; two caches each; cores 0,1 2,3 ...
constexpr const char* machine = "package:2 l3:2 core:2 pu:2";

std::string lists(int nranks, const Placement& wish, const char* where = machine) {
  const auto topology = Topology::synthetic(where);
  EXPECT_TRUE(topology);
  const auto placed = place(topology.value, nranks, wish);
  if (!placed) return last_error_text(placed.err.cls);
  EXPECT_EQ(placed.value.size(), static_cast<std::size_t>(nranks));
  std::string out;
  for (const Slice& slice : placed.value) out += (out.empty() ? "" : " ") + cpu_list(slice.cpus());
  return out;
}

TEST(Placement, NoWishIsSlices) {
  EXPECT_EQ(lists(4, {}), "0-3 4-7 8-11 12-15");
}

TEST(Placement, OneCoreOfEachSlice) {
  EXPECT_EQ(lists(4, {.bind = Unit::core}), "0,1 4,5 8,9 12,13");
  EXPECT_EQ(lists(2, {.bind = Unit::core}, "package:1 l3:2 core:4 pu:1"), "0 4");
}

TEST(Placement, BoundToTheLevelAroundTheSlice) {
  EXPECT_EQ(lists(4, {.bind = Unit::package}), "0-7 0-7 8-15 8-15");
  EXPECT_EQ(lists(4, {.bind = Unit::l3cache}), "0-3 4-7 8-11 12-15");
  EXPECT_EQ(lists(2, {.bind = Unit::machine}), "0-15 0-15");
  EXPECT_EQ(lists(2, {.bind = Unit::hwthread}), "0 8");
}

TEST(Placement, ConsecutiveCores) {
  EXPECT_EQ(lists(3, {.map = Unit::core, .bind = Unit::core}), "0,1 2,3 4,5");
  EXPECT_EQ(lists(3, {.map = Unit::core}), "0,1 2,3 4,5");
  EXPECT_EQ(lists(3, {.map = Unit::hwthread}), "0 1 2");
  EXPECT_EQ(lists(3, {.map = Unit::core, .bind = Unit::core, .width = 2}), "0-3 4-7 8-11");
  EXPECT_EQ(lists(3, {.map = Unit::core, .bind = Unit::package}), "0-7 0-7 0-7");
}

TEST(Placement, InTurnOrFilled) {
  EXPECT_EQ(lists(4, {.map = Unit::package, .bind = Unit::core}), "0,1 8,9 2,3 10,11");
  EXPECT_EQ(lists(4, {.map = Unit::package, .bind = Unit::core, .fill = true}),
            "0,1 2,3 8,9 10,11");
  EXPECT_EQ(lists(3, {.map = Unit::package}), "0-3 8-15 4-7");
  EXPECT_EQ(lists(3, {.map = Unit::package, .fill = true}), "0-3 4-7 8-15");
  EXPECT_EQ(lists(2, {.map = Unit::l3cache, .fill = true}), "0-3 4-7");
  EXPECT_EQ(lists(4, {.map = Unit::package, .bind = Unit::core, .width = 2}), "0-3 8-11 4-7 12-15");
  EXPECT_EQ(lists(2, {.map = Unit::package, .bind = Unit::l3cache}), "0-3 8-11");
}

TEST(Placement, MoreRanksThanParts) {
  EXPECT_EQ(lists(4, {.map = Unit::core, .bind = Unit::core}, "package:1 core:2 pu:1"), "0 1 0 1");
  EXPECT_EQ(lists(3, {.map = Unit::core, .bind = Unit::core, .width = 2}, "package:1 core:3 pu:1"),
            "0,1 1,2 1,2");
  EXPECT_EQ(lists(5, {.map = Unit::package}, "package:2 core:1 pu:2"), "0 2 0 3 1");
}

TEST(Placement, WhatTheMachineLacksIsSaid) {
  const char* plain = "core:2 pu:1";
  EXPECT_NE(lists(2, {.map = Unit::l3cache}, plain).find("no level L3Cache"), std::string::npos);
  EXPECT_NE(lists(2, {.bind = Unit::package}, plain).find("no level Package"), std::string::npos);
  EXPECT_NE(lists(2, {.bind = Unit::core, .width = 3}, plain).find("3 times Core"),
            std::string::npos);
  EXPECT_NE(lists(2, {.map = Unit::package, .bind = Unit::core, .width = 5}).find("5 times Core"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::topo
