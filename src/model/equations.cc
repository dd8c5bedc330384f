// SPDX-License-Identifier: Apache-2.0
#include "model/equations.h"

#include <bit>

namespace weft::model {
namespace {

int power_below(int x) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(x)));
}

/// Ranks that share a link of the outermost level.
int ranks_per_link(const Machine& x) {
  return x.levels > 1 ? x.ranks_in(x.levels - 2) : x.ranks() - 1;
}

/// p tiles, one's own vector included as in (8); `shared(l)`: how many ranks at once read in the
/// part of level l that they share.
template <class Shared>
double tiles_of_all(const Machine& x, double m, Shared&& shared) {
  const int p = x.ranks();
  double t = x.reduce * m * (p - 1) / p;
  for (int l = 0; l < x.levels; ++l)
    t += (x.peers_at(l) + (l == 0)) * x.level[l].read(m / p, shared(l));
  return t;
}

}  // namespace

int tree_steps(int x, int n) {
  int steps = 0;
  for (; x > 1; x = (x + n - 1) / n) ++steps;
  return steps;
}

double reduce_tree_contended(const Machine& x, const Level& level, int q, int n, double m) {
  double t = 0;
  for (int left = q; left > 1; left = (left + n - 1) / n)
    t += (n - 1) * (level.read(m, std::max(1, left / n)) + x.reduce * m);
  return t;
}

double reduce_tree_linked(const Machine& x, const Level& level, int s, int n, double m) {
  return (n - 1) * (level.read(m, 1) + x.reduce * m) * tree_steps(s, n);
}

double reduce_tree(const Machine& x, int n, double m) {
  double t = 0;
  for (int l = 0; l < x.levels; ++l)
    t += l > 0 && l == x.levels - 1 ? reduce_tree_linked(x, x.level[l], x.fan[l], n, m)
                                    : reduce_tree_contended(x, x.level[l], x.fan[l], n, m);
  return t;
}

double bcast_one_stage(const Machine& x, double m) {
  return x.top().read_far(m, ranks_per_link(x)) + x.copy * m;
}

double bcast_staged(const Machine& x, double m) {
  double t = 0;
  for (int l = 0; l < x.levels; ++l) {
    const bool link = l > 0 && l == x.levels - 1;
    t += x.level[l].read_far(m, link ? 1 : x.fan[l] - 1) + x.copy * m;
  }
  return t;
}

double bcast(const Machine& x, double m) {
  return std::min(bcast_staged(x, m), bcast_one_stage(x, m));
}

double bcast_tree(const Machine& x, int n, double m) {
  double t = 0;
  for (int l = 0; l < x.levels; ++l)
    // After i steps (n+1)^i ranks have it.
    t += tree_steps(x.fan[l], n + 1) * (x.level[l].read_far(m, n) + x.copy * m);
  return t;
}

double reduce_bcast(const Machine& x, int n, double m) {
  return reduce_tree(x, n, m) + bcast(x, m);
}

double dissemination_power_of_two(const Machine& x, double m) {
  double t = 0;
  for (int l = 0; l < x.levels; ++l) {
    // All ranks of a part read at once; between parts, those of one share the link.
    const int readers = l == 0 ? x.fan[0] : x.ranks_in(l - 1);
    t += tree_steps(x.fan[l], 2) * (x.level[l].read(m, readers) + x.reduce * m);
  }
  return t;
}

double dissemination_other(const Machine& x, double m) {
  Machine even = x;
  even.fan[0] = power_below(x.fan[0]);
  const int r = x.fan[0] - even.fan[0];
  const double extra = r > 0 ? 2 * x.level[0].read(m, r) + (x.reduce + x.copy) * m : 0;
  return dissemination_power_of_two(even, m) + extra;
}

double dissemination(const Machine& x, double m) {
  return dissemination_other(x, m);  // r = 0 makes (7) the same as (6)
}

double tiled_reduce_inside(const Machine& x, double m) {
  const int q = x.fan[0];
  return q * x.level[0].read(m / q, q) + x.reduce * m * (q - 1) / q;
}

double tiled_reduce_between(const Machine& x, double m) {
  double t = 0;
  for (int l = 1; l < x.levels; ++l) {
    const int tiles = x.ranks_in(l - 1);
    t += tree_steps(x.fan[l], 2) * (x.level[l].read(m / tiles, tiles) + x.reduce * m / tiles);
  }
  return t;
}

double tiled_reduce(const Machine& x, double m) {
  return tiled_reduce_inside(x, m) + tiled_reduce_between(x, m);
}

double tiled_reduce_bcast(const Machine& x, double m) {
  return tiled_reduce(x, m) + bcast(x, m);
}

double naive_tiled_reduce(const Machine& x, double m) {
  return tiles_of_all(x, m, [&](int) { return x.ranks(); });
}

double cyclic_tiled_reduce(const Machine& x, double m) {
  return tiles_of_all(x, m, [&](int l) { return l == 0 ? x.fan[0] : x.ranks_in(l - 1); });
}

double barrier(const Machine& x, int n) {
  Machine flags = x;  // nothing is folded or copied, and lines that differ do not queue up
  flags.reduce = flags.copy = 0;
  for (int l = 0; l < x.levels; ++l) flags.level[l].B = 0;
  return reduce_bcast(flags, n, 1);
}

}  // namespace weft::model
