// SPDX-License-Identifier: Apache-2.0
//
// Placing a grid of ranks on the node, so that neighbors in the grid are near each other:
// MPI_Cart_map and MPI_Cart_create with reorder. Without messages: every rank computes the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topo/hierarchy.h"

namespace weft::topo {

/// Points are numbered row-major; the numbers of dims, periods are equal.
struct Grid {
  std::span<const int> dims;
  std::span<const int> periods;
};

/// For each point of the grid an index into `world_ranks`, which has as many entries as the grid
/// points. In order (0, 1, 2, ...) unless something else has fewer lines between far ranks.
std::vector<int> place_grid(const Hierarchy& hierarchy, std::span<const std::int32_t> world_ranks,
                            const Grid& grid);

/// How many lines of the grid join ranks whose innermost common part is of each level. at_point[p]
/// is the world rank at point p.
std::vector<long> count_lines(const Hierarchy& hierarchy, std::span<const std::int32_t> at_point,
                              const Grid& grid);

}  // namespace weft::topo
