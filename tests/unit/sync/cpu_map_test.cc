// SPDX-License-Identifier: Apache-2.0
//
// Distances between CPUs, read from a tree as the kernel shows it.
#include "sync/cpu_map.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weft::sync {
namespace {

namespace fs = std::filesystem;

/// Two domains of four CPUs; two CPUs share a last cache.
TEST(CpuMap, ReadsTheKernelsTree) {
  const fs::path root = fs::temp_directory_path() / ("cpu_map_test." + std::to_string(getpid()));
  for (int cpu = 0; cpu < 8; ++cpu) {
    const fs::path folder = root / "cpu" / ("cpu" + std::to_string(cpu));
    const int first = cpu / 2 * 2;
    for (int level = 0; level < 3; ++level) {
      const fs::path cache = folder / "cache" / ("index" + std::to_string(level));
      fs::create_directories(cache);
      std::ofstream(cache / "shared_cpu_list")
          << (level < 2 ? std::to_string(cpu)
                        : std::to_string(first) + "-" + std::to_string(first + 1))
          << "\n";
    }
    fs::create_directories(folder / ("node" + std::to_string(cpu / 4)));
  }
  const CpuMap map = CpuMap::read(root.string());
  fs::remove_all(root);
  EXPECT_EQ(map.between(3, 3), Distance::cluster);
  EXPECT_EQ(map.between(2, 3), Distance::cluster);
  EXPECT_EQ(map.between(1, 2), Distance::domain);
  EXPECT_EQ(map.between(0, 3), Distance::domain);
  EXPECT_EQ(map.between(3, 4), Distance::far);
  EXPECT_EQ(map.between(7, 0), Distance::far);
}

TEST(CpuMap, WhatIsUnknownIsNear) {
  const CpuMap map = CpuMap::read("/nonexistent");
  EXPECT_EQ(map.between(0, 1), Distance::cluster);
}

}  // namespace
}  // namespace weft::sync
