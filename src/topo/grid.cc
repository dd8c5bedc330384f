// SPDX-License-Identifier: Apache-2.0
//
// From the outermost level that divides the ranks inwards, the grid is cut into equal boxes, one
// for each part, of the shape that cuts the fewest lines. A level whose parts hold different
// numbers of ranks, or into whose number no box fits, is left out.
//
// source  Gropp, "Using node and socket information to implement MPI Cartesian topologies",
//         Parallel Computing 85, 2019: boxes per node, generalized to any number of levels
#include "topo/grid.h"

#include <algorithm>
#include <numeric>

namespace weft::topo {
namespace {

using Shape = std::vector<int>;

int volume(std::span<const int> shape) {
  return std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
}

/// Lines that are cut when a box is cut into pieces.
long cut_lines(const Grid& grid, const Shape& box, const Shape& piece) {
  long lines = 0;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const int pieces = box[d] / piece[d];
    const bool wraps = pieces > 1 && grid.periods[d] != 0 && box[d] == grid.dims[d];
    lines += static_cast<long>(pieces - 1 + wraps) * (volume(box) / box[d]);
  }
  return lines;
}

/// The piece of `ranks` points that divides the box and cuts the fewest lines; empty if none does.
/// `piece` is chosen up to dimension d.
void choose_piece(const Grid& grid, const Shape& box, int ranks, std::size_t d, Shape& piece,
                  Shape& best) {
  if (d == box.size()) {
    if (ranks == 1 && (best.empty() || cut_lines(grid, box, piece) < cut_lines(grid, box, best)))
      best = piece;
    return;
  }
  for (piece[d] = 1; piece[d] <= box[d]; ++piece[d])
    if (box[d] % piece[d] == 0 && ranks % piece[d] == 0)
      choose_piece(grid, box, ranks / piece[d], d + 1, piece, best);
}

class Placer {
 public:
  Placer(const Hierarchy& hierarchy, std::span<const std::int32_t> world_ranks, const Grid& grid)
      : hierarchy_(hierarchy), world_ranks_(world_ranks), grid_(grid), out_(world_ranks.size()) {}

  /// Give the points of a box to ranks (indices into world_ranks) that are together in a part of
  /// the level above `level`.
  void place(const Shape& origin, const Shape& box, std::vector<int> ranks, int level) {
    for (; level < hierarchy_.levels(); ++level) {
      const auto part = [&](int i) {
        return hierarchy_.group_of(level, world_ranks_[static_cast<std::size_t>(i)]);
      };
      std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return part(a) < part(b); });
      if (part(ranks.front()) == part(ranks.back())) continue;
      const auto differs = [&](int i) { return part(i) != part(ranks.front()); };
      const auto each = std::find_if(ranks.begin(), ranks.end(), differs) - ranks.begin();
      if (!equal_parts(ranks, static_cast<std::size_t>(each), part)) continue;
      Shape piece(box.size()), best;
      choose_piece(grid_, box, static_cast<int>(each), 0, piece, best);
      if (best.empty()) continue;
      place_pieces(origin, box, best, ranks, level + 1);
      return;
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) out_[point(origin, box, i)] = ranks[i];
  }

  std::vector<int> take() { return std::move(out_); }

 private:
  template <class Part>
  static bool equal_parts(const std::vector<int>& ranks, std::size_t each, Part part) {
    if (part(ranks.front()) < 0 || ranks.size() % each != 0) return false;
    for (std::size_t i = 0; i < ranks.size(); i += each) {
      if (part(ranks[i]) != part(ranks[i + each - 1])) return false;
      if (i > 0 && part(ranks[i]) == part(ranks[i - 1])) return false;
    }
    return true;
  }

  /// The coordinates of the i-th point of a shape.
  static Shape coordinates(const Shape& shape, std::size_t i) {
    Shape at(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; i /= static_cast<std::size_t>(shape[d]))
      at[d] = static_cast<int>(i % static_cast<std::size_t>(shape[d]));
    return at;
  }

  std::size_t point(const Shape& origin, const Shape& box, std::size_t i) const {
    const Shape at = coordinates(box, i);
    std::size_t p = 0;
    for (std::size_t d = 0; d < box.size(); ++d)
      p = p * static_cast<std::size_t>(grid_.dims[d]) + static_cast<std::size_t>(origin[d] + at[d]);
    return p;
  }

  void place_pieces(const Shape& origin, const Shape& box, const Shape& piece,
                    const std::vector<int>& ranks, int level) {
    Shape pieces(box.size());
    for (std::size_t d = 0; d < box.size(); ++d) pieces[d] = box[d] / piece[d];
    const auto each = static_cast<std::ptrdiff_t>(volume(piece));
    for (std::size_t k = 0; k * static_cast<std::size_t>(each) < ranks.size(); ++k) {
      Shape corner = coordinates(pieces, k);
      for (std::size_t d = 0; d < box.size(); ++d) corner[d] = origin[d] + corner[d] * piece[d];
      const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(k) * each;
      place(corner, piece, {first, first + each}, level);
    }
  }

  const Hierarchy& hierarchy_;
  std::span<const std::int32_t> world_ranks_;
  const Grid& grid_;
  std::vector<int> out_;
};

}  // namespace

std::vector<long> count_lines(const Hierarchy& hierarchy, std::span<const std::int32_t> at_point,
                              const Grid& grid) {
  std::vector<long> lines(static_cast<std::size_t>(hierarchy.levels()));
  std::size_t stride = at_point.size();
  for (std::size_t d = 0; d < grid.dims.size(); ++d) {
    const auto n = static_cast<std::size_t>(grid.dims[d]);
    stride /= n;  // from a point to the next one in dimension d
    for (std::size_t p = 0; p < at_point.size(); ++p) {
      const bool last = p / stride % n == n - 1;
      if (last && (n == 1 || grid.periods[d] == 0)) continue;
      const std::size_t q = last ? p - (n - 1) * stride : p + stride;
      ++lines[static_cast<std::size_t>(hierarchy.deepest_common(at_point[p], at_point[q]))];
    }
  }
  return lines;
}

std::vector<int> place_grid(const Hierarchy& hierarchy, std::span<const std::int32_t> world_ranks,
                            const Grid& grid) {
  std::vector<int> in_order(world_ranks.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  if (world_ranks.empty()) return in_order;
  Placer placer(hierarchy, world_ranks, grid);
  placer.place(Shape(grid.dims.size()), Shape(grid.dims.begin(), grid.dims.end()), in_order, 0);
  std::vector<int> placed = placer.take();
  std::vector<std::int32_t> at_point;
  for (const int i : placed) at_point.push_back(world_ranks[static_cast<std::size_t>(i)]);
  // Far lines count first.
  return count_lines(hierarchy, at_point, grid) < count_lines(hierarchy, world_ranks, grid)
             ? placed
             : in_order;
}

}  // namespace weft::topo
