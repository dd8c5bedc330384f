// SPDX-License-Identifier: Apache-2.0
//
// The hierarchy as ranks see it: on declared machines, with ranks that fill parts, share them and
// span several, and on one whose parts are uneven.
#include "topo/hierarchy.h"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <cstdlib>

#include "unit/topo/table.h"

namespace weft::topo {
namespace {

using Row = std::vector<int>;

Row row(const Hierarchy& h, std::string_view name, int ranks) {
  Row out;
  for (int r = 0; r < ranks; ++r) out.push_back(h.group_of(h.level_named(name), r));
  return out;
}

std::string names(const Hierarchy& h) {
  std::string out;
  for (int l = 0; l < h.levels(); ++l) out += (l > 0 ? " " : "") + std::string(h.name(l));
  return out;
}

TEST(Hierarchy, UnknownIsOneMachine) {
  std::vector<std::uint64_t> zero(HierarchyTable::bytes(4) / 8 + 1);
  const Hierarchy h(*reinterpret_cast<HierarchyTable*>(zero.data()));
  EXPECT_EQ(names(h), "Machine");
  EXPECT_EQ(row(h, "Machine", 4), (Row{0, 0, 0, 0}));
  EXPECT_EQ(h.level_named("Package"), -1);
  EXPECT_EQ(h.deepest_common(0, 3), 0);
}

TEST(Hierarchy, OneRankPerCore) {
  OwnTable table("pack:2 l3:2 l2:2 core:1 pu:2", 8);
  const Hierarchy h = table.view();
  EXPECT_EQ(names(h), "Machine NUMANode Package L3Cache L2Cache Core PU");
  EXPECT_EQ(row(h, "Package", 8), (Row{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(row(h, "L3Cache", 8), (Row{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(row(h, "Core", 8), (Row{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(row(h, "PU", 8), Row(8, -1)) << "both threads of a core";
  EXPECT_EQ(h.name(h.deepest_common(0, 1)), "L3Cache");
  EXPECT_EQ(h.name(h.deepest_common(1, 2)), "Package");
  EXPECT_EQ(h.name(h.deepest_common(3, 4)), "NUMANode");
  EXPECT_EQ(h.name(h.deepest_common(5, 5)), "Core");
  EXPECT_EQ(h.group_of(h.level_named("Core"), 8), -1) << "spawned later";
  EXPECT_EQ(h.name(h.deepest_common(5, 8)), "Machine");
}

TEST(Hierarchy, WideAndCrowdedRanks) {
  OwnTable wide("pack:2 l3:2 core:4 pu:1", 2), all("pack:2 core:4 pu:1", 1),
      crowded("pack:2 core:2 pu:1", 8);
  EXPECT_EQ(row(wide.view(), "Package", 2), (Row{0, 1}));
  EXPECT_EQ(row(wide.view(), "L3Cache", 2), (Row{-1, -1}));
  EXPECT_EQ(row(all.view(), "Package", 1), Row{-1});
  EXPECT_EQ(row(all.view(), "Machine", 1), Row{0});
  EXPECT_EQ(row(crowded.view(), "PU", 8), (Row{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(row(crowded.view(), "Package", 8), (Row{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Hierarchy, MemoryAroundAndInsidePackages) {
  EXPECT_EQ(Topology::synthetic("pack:4 [numa] l3:1 core:2 pu:1").value.count_levels(),
            "Machine 1, Package 4, NUMANode 4, L3Cache 4, Core 8, PU 8");
  EXPECT_EQ(Topology::synthetic("[numa] pack:2 core:2 pu:1").value.count_levels(),
            "Machine 1, NUMANode 1, Package 2, Core 4, PU 4");
}

/// A machine that hwloc's synthetic form cannot say, as lstopo would save it: the CPUs `kept` of a
/// regular one.
std::string write_uneven(const char* whole, const char* kept) {
  const std::string path = testing::TempDir() + "weft_uneven.xml";
  hwloc_topology_t t;
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  hwloc_topology_init(&t);
  hwloc_topology_set_synthetic(t, whole);
  hwloc_topology_load(t);
  hwloc_bitmap_list_sscanf(set, kept);
  EXPECT_EQ(hwloc_topology_restrict(t, set, 0), 0);
  EXPECT_EQ(hwloc_topology_export_xml(t, path.c_str(), 0), 0);
  hwloc_bitmap_free(set);
  hwloc_topology_destroy(t);
  return path;
}

TEST(Hierarchy, UnevenMachineFromAFile) {
  setenv("HWLOC_XMLFILE", write_uneven("pack:2 l3:2 core:4 pu:1", "0-3,5-6,8-11").c_str(), 1);
  const Result<Topology> t = Topology::this_node();
  unsetenv("HWLOC_XMLFILE");
  ASSERT_TRUE(t) << last_error_text(t.err.cls);
  EXPECT_FALSE(t.value.is_here());
  EXPECT_EQ(t.value.cpus(), 10);
  OwnTable table(t.value, 10);
  EXPECT_EQ(row(table.view(), "Package", 10), (Row{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(row(table.view(), "L3Cache", 10), (Row{0, 0, 0, 0, 1, 1, 2, 2, 2, 2}));
}

TEST(Hierarchy, DeclaredMachines) {
  setenv("HWLOC_SYNTHETIC", "pack:4 core:8 pu:1", 1);
  const Result<Topology> t = Topology::this_node();
  setenv("HWLOC_SYNTHETIC", "four packages", 1);
  const Result<Topology> bad = Topology::this_node();
  unsetenv("HWLOC_SYNTHETIC");
  ASSERT_TRUE(t);
  EXPECT_EQ(t.value.cores().size(), 32u);
  EXPECT_FALSE(t.value.is_here());
  ASSERT_FALSE(bad);
  EXPECT_NE(std::string(last_error_text(bad.err.cls)).find("HWLOC_SYNTHETIC"), std::string::npos);
  const Result<Topology> real = Topology::this_node();
  ASSERT_TRUE(real);
  EXPECT_TRUE(real.value.is_here());
}

}  // namespace
}  // namespace weft::topo
