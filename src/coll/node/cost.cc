// SPDX-License-Identifier: Apache-2.0
#include "coll/node/cost.h"

#include <algorithm>

#include "coll/shared/cost.h"
#include "model/equations.h"

namespace weft::coll {
namespace {

using model::lines_of;
using model::Machine;
using model::Prediction;

/// With what each step costs in software: to begin or await anything at a board.
Prediction with_steps(const Machine& x, Prediction cost) {
  return cost.add("steps at the board", "1 + waits, built in", (1 + cost.turns()) * x.step);
}

/// What others are to read: as in the equations in the ranks' own buffers, whose owners fetch back
/// what was read and stay until then; or copied to where others can read it.
Prediction shown(const Machine& x, double m, bool direct, Prediction fetched_back) {
  if (direct) return fetched_back.wait(1);
  return Prediction().add("copy to the board", "(copy + b/4) m", (x.copy + x.top().taken()) * m);
}

constexpr const char* fetch = "owners fetch their lines back";
Prediction root_fetches_back(const Machine& x, double m) {
  return Prediction().add_for_one("the root fetches its lines back", "w m", x.top().back() * m);
}
Prediction all_fetch_back(const Machine& x, double m) {
  return Prediction().add(fetch, "w m", x.top().back() * m);
}
/// Between parts one rank reads what another one has folded.
Prediction tree_fetches_back(const Machine& x, double m) {
  Prediction out;
  out.add(fetch, "w m inside parts", x.level[0].back() * m);
  return x.levels < 2 ? out : out.add_for_one(fetch, "w m between parts", x.top().back() * m);
}
/// Between parts each reads a tile.
Prediction tiles_fetch_back(const Machine& x, double m) {
  Prediction out;
  out.add(fetch, "w m inside parts", x.level[0].back() * m);
  return x.levels < 2 ? out : out.add(fetch, "w m/q between parts", x.top().back() * m / x.fan[0]);
}

/// How often the ranks on the longest path of n-ary trees wait for others.
double tree_waits(const Machine& x, int n) {
  double steps = 0;
  for (int l = 0; l < x.levels; ++l) steps += model::tree_steps(x.fan[l], n);
  return steps;
}

Prediction bcast_cost(const Machine& x, std::int64_t bytes, bool direct, double waits,
                      const char* what, const char* source, double seconds) {
  const double m = lines_of(bytes);
  return with_steps(
      x, shown(x, m, direct, root_fetches_back(x, m)).wait(waits).add(what, source, seconds));
}

/// A reduction's equation, and the steps on the longest path.
struct Folding {
  const char* what;
  const char* source;
  double seconds, waits;
  Prediction fetched_back;
};
Folding tree(const Machine& x, double m, int n) {
  return {"trees over the levels", "(1) (2)", model::reduce_tree(x, n, m), tree_waits(x, n),
          tree_fetches_back(x, m)};
}
/// All for all, then one for all tiles.
Folding tiled(const Machine& x, double m, Tiles tiles) {
  if (tiles == Tiles::hierarchical)
    return {"tiles inside, trees between parts", "(8) (9)", model::tiled_reduce(x, m),
            1.0 + x.levels, tiles_fetch_back(x, m)};
  const bool naive = tiles == Tiles::naive;
  return {naive ? "p tiles, all from one rank at once" : "p tiles, each from another rank",
          "section 3.2", naive ? model::naive_tiled_reduce(x, m) : model::cyclic_tiled_reduce(x, m),
          2, all_fetch_back(x, m)};
}

Prediction folded(const Machine& x, double m, bool direct, const Folding& f) {
  return shown(x, m, direct, f.fetched_back).wait(f.waits).add(f.what, f.source, f.seconds);
}
Prediction reduce_cost(const Machine& x, double m, bool direct, const Folding& f) {
  return with_steps(x, folded(x, m, direct, f));
}
/// And down again: in one stage or several, whichever is faster.
Prediction allreduce_cost(const Machine& x, double m, bool direct, const Folding& f) {
  Prediction out = folded(x, m, direct, f);
  const double at_once = model::bcast_one_stage(x, m), staged = model::bcast_staged(x, m);
  if (staged < at_once)
    out.wait(x.levels).add("the result, level by level", "(4) left", staged);
  else
    out.wait(1).add("all read the result", "(4) right", at_once);
  return with_steps(x, std::move(out));
}

}  // namespace

Prediction barrier_tree_cost(const Machine& x, std::int64_t, bool) {
  return with_steps(x, Prediction()
                           .wait(tree_waits(x, 2) + x.levels)
                           .add("flags up and down", "(5), one line", model::barrier(x, 2)));
}

Prediction bcast_one_stage_cost(const Machine& x, std::int64_t bytes, bool direct) {
  return bcast_cost(x, bytes, direct, 1, "all read the root's", "(4) right",
                    model::bcast_one_stage(x, lines_of(bytes)));
}
Prediction bcast_two_stage_cost(const Machine& x, std::int64_t bytes, bool direct) {
  return bcast_cost(x, bytes, direct, x.levels, "level by level", "(4) left",
                    model::bcast_staged(x, lines_of(bytes)));
}
template <int n>
Prediction bcast_tree_cost(const Machine& x, std::int64_t bytes, bool direct) {
  return bcast_cost(x, bytes, direct, tree_waits(x, n), "n - 1 readers at a time", "section 3.1",
                    model::bcast_tree(x, n - 1, lines_of(bytes)));
}
template BoardCost bcast_tree_cost<2>;
template BoardCost bcast_tree_cost<4>;
template BoardCost bcast_tree_cost<8>;

template <int n>
Prediction reduce_tree_cost(const Machine& x, std::int64_t bytes, bool direct) {
  const double m = lines_of(bytes);
  return reduce_cost(x, m, direct, tree(x, m, n));
}
template BoardCost reduce_tree_cost<2>;
template BoardCost reduce_tree_cost<3>;
template BoardCost reduce_tree_cost<4>;
template BoardCost reduce_tree_cost<8>;
template <int n>
Prediction allreduce_tree_cost(const Machine& x, std::int64_t bytes, bool direct) {
  const double m = lines_of(bytes);
  return allreduce_cost(x, m, direct, tree(x, m, n));
}
template BoardCost allreduce_tree_cost<2>;
template BoardCost allreduce_tree_cost<3>;
template BoardCost allreduce_tree_cost<4>;
template BoardCost allreduce_tree_cost<8>;

template <Tiles tiles>
Prediction reduce_tiled_cost(const Machine& x, std::int64_t bytes, bool direct) {
  const double m = lines_of(bytes);
  return reduce_cost(x, m, direct, tiled(x, m, tiles));
}
template BoardCost reduce_tiled_cost<Tiles::naive>;
template BoardCost reduce_tiled_cost<Tiles::cyclic>;
template BoardCost reduce_tiled_cost<Tiles::hierarchical>;
template <Tiles tiles>
Prediction allreduce_tiled_cost(const Machine& x, std::int64_t bytes, bool direct) {
  const double m = lines_of(bytes);
  return allreduce_cost(x, m, direct, tiled(x, m, tiles));
}
template BoardCost allreduce_tiled_cost<Tiles::naive>;
template BoardCost allreduce_tiled_cost<Tiles::cyclic>;
template BoardCost allreduce_tiled_cost<Tiles::hierarchical>;

Prediction allreduce_dissemination_cost(const Machine& x, std::int64_t bytes, bool direct) {
  const double m = lines_of(bytes);
  return with_steps(x, shown(x, m, direct, all_fetch_back(x, m))
                           .wait(tree_waits(x, 2))
                           .add("dissemination", "(6) (7)", model::dissemination(x, m)));
}

Prediction scan_chain_cost(const Machine& x, std::int64_t bytes, bool direct) {
  const double m = lines_of(bytes), steps = x.ranks() - 1;
  return with_steps(x, shown(x, m, direct, all_fetch_back(x, m))
                           .wait(steps)
                           .add("rank by rank", "(p-1) (a + (b + reduce) m)",
                                steps * (x.top().read(m, 1) + x.reduce * m))
                           .add("copy the own vector", "copy m", x.copy * m));
}

/// As the ways through the shared block, but flag by flag.
template <Call call>
Prediction exchange_cost(const Machine& x, std::int64_t bytes, bool direct) {
  return with_steps(x, (direct ? direct_cost : block_cost)(call, x, bytes, true));
}
template BoardCost exchange_cost<Call::gather>;
template BoardCost exchange_cost<Call::scatter>;
template BoardCost exchange_cost<Call::allgather>;
template BoardCost exchange_cost<Call::alltoall>;
template BoardCost exchange_cost<Call::reduce_scatter>;

}  // namespace weft::coll
