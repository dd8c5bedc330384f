// SPDX-License-Identifier: Apache-2.0
#include "coll/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "coll/algorithms/algorithms.h"
#include "coll/node/choose.h"
#include "coll/select.h"
#include "coll/shared/block.h"
#include "coll/shared/cost.h"
#include "coll/way.h"
#include "model/equations.h"

namespace weft::coll {
namespace {

using model::lines_of;
using model::Machine;
using model::Prediction;

constexpr Call calls[] = {Call::barrier,        Call::bcast,   Call::reduce, Call::allreduce,
                          Call::reduce_scatter, Call::scan,    Call::gather, Call::scatter,
                          Call::allgather,      Call::alltoall};

constexpr const char* slots = "slots";
constexpr const char* direct = "direct";

/// A schedule: its cost, whether its rounds exchange, and when it is legal.
struct Algorithm {
  Call call;
  const char* name;
  Cost (*cost)(int p, std::int64_t n);
  bool exchange;
  bool commutative_only = false;
};
constexpr Algorithm algorithms[] = {
    {Call::barrier, "dissemination", barrier_dissemination_cost, true},
    {Call::bcast, "binomial", bcast_binomial_cost, false},
    {Call::bcast, "scatter_allgather", bcast_scatter_allgather_cost, true},
    {Call::reduce, "binomial", reduce_binomial_cost, false},
    {Call::reduce, "ordered", reduce_ordered_cost, true},
    {Call::allreduce, "recursive_doubling", allreduce_recursive_doubling_cost, true},
    {Call::allreduce, "rabenseifner", allreduce_rabenseifner_cost, true, true},
    {Call::allreduce, "ordered", allreduce_ordered_cost, true},
    {Call::reduce_scatter, "pairwise", reduce_scatter_pairwise_cost, true, true},
    {Call::reduce_scatter, "rooted", reduce_scatter_rooted_cost, false},
    {Call::reduce_scatter, "ordered", reduce_scatter_ordered_cost, true},
    {Call::scan, "recursive_doubling", scan_recursive_doubling_cost, true},
    {Call::scan, "linear", scan_linear_cost, false},
    {Call::gather, "linear", gather_linear_cost, false},
    {Call::gather, "binomial", gather_binomial_cost, false},
    {Call::scatter, "linear", scatter_linear_cost, false},
    {Call::scatter, "binomial", scatter_binomial_cost, false},
    {Call::allgather, "ring", allgather_ring_cost, true},
    {Call::allgather, "bruck", allgather_bruck_cost, true},
    {Call::alltoall, "pairwise", alltoall_pairwise_cost, true},
    {Call::alltoall, "bruck", alltoall_bruck_cost, true},
};

/// The schedule that select.h chooses, by the name above.
const char* schedule_name(const Machine& x, const Setting& s) {
  const Case c{x.ranks(), s.bytes, true, s.commutative, s.asked};
  switch (s.call) {
    case Call::barrier:
      return "dissemination";
    case Call::bcast:
      return choose_bcast(c).name;
    case Call::reduce:
      return choose_reduce(c).name;
    case Call::allreduce:
      return choose_allreduce(c).name;
    case Call::reduce_scatter:
      return choose_reduce_scatter(c).name;
    case Call::gather:
      return choose_gather(c).name;
    case Call::scatter:
      return choose_scatter(c).name;
    case Call::allgather:
      return choose_allgather(c).name;
    case Call::alltoall:
      return choose_alltoall(c).name;
    default:
      return choose_scan(c).name;
  }
}
WayCase way_case(const Machine& x, const Setting& s) {
  return {.call = s.call,
          .bytes = s.call == Call::barrier ? 0 : s.bytes,
          .ranks = x.ranks(),
          .slot_bytes = slot_bytes_for(s.shared_max),
          .reach = s.threads && s.call != Call::scan,
          .crowded = s.crowded,
          .far = x.is_far(),
          .asked = kind_of(s.call, s.asked)};
}
bool fits_slot(const WayCase& c) {
  return c.slot_bytes > 0 && held_by_slot(c.call, c.bytes, c.ranks) <= c.slot_bytes;
}
bool is_flat(const Machine& x, const Setting& s) {
  return !s.crowded && x.ranks() <= flat_max;
}
/// With more ranks than CPUs all do their work in turn, and a rank that waits lets the others run.
Prediction with_call(const Machine& x, Prediction cost) {
  cost.add("the call", "built in", x.call);
  if (!x.crowded()) return cost;
  const double share = static_cast<double>(x.ranks()) / x.cpus;
  cost.add("others' work on the same CPUs", "(p/CPUs - 1) of what all do",
           (share - 1) * cost.seconds_of_all());
  return cost.add("ranks take turns", "p/CPUs switches for each wait",
                  cost.turns() * share * x.turn);
}

void add_shared(std::vector<Candidate>& out, const Machine& x, const Setting& s) {
  const bool flat = is_flat(x, s);
  if (fits_slot(way_case(x, s)))
    out.push_back({slots, with_call(x, slots_cost(s.call, x, s.bytes, flat))});
  if (s.bytes == 0 || s.shared_max == 0 || s.call == Call::barrier) return;
  if (s.threads && s.call != Call::scan)
    out.push_back({direct, with_call(x, direct_cost(s.call, x, s.bytes, flat))});
  out.push_back({block_name(s.call), with_call(x, block_cost(s.call, x, s.bytes, flat))});
}

/// What others have read of the ranks' vectors, before these are written again.
constexpr const char* fetch = "owners fetch their lines back";
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
template <int n>
double tree_waits(const Machine& x) {
  double steps = 0;
  for (int l = 0; l < x.levels; ++l) steps += model::tree_steps(x.fan[l], n);
  return steps;
}
/// All for all, then one for all tiles.
double tile_waits(const Machine&) {
  return 2;
}

// The paper's algorithms, along the levels of the node.
struct Staged {
  const char* name;
  const char* what;
  const char* source;
  double (*cost)(const Machine& x, double m);
  double (*waits)(const Machine& x);
  Prediction (*fetched_back)(const Machine& x, double m) = nullptr;  // of a reduction
};
template <int n>
double bcast_tree(const Machine& x, double m) {
  return model::bcast_tree(x, n - 1, m);  // one of n has it already
}
template <int n>
double reduce_tree(const Machine& x, double m) {
  return model::reduce_tree(x, n, m);
}
constexpr Staged bcasts[] = {
    {"one_stage", "all read the root's", "(4) right", model::bcast_one_stage,
     [](const Machine&) { return 1.0; }},
    {"two_stage", "level by level", "(4) left", model::bcast_staged,
     [](const Machine& x) { return 1.0 * x.levels; }},
    {"tree", "3 readers at a time", "section 3.1", bcast_tree<4>, tree_waits<4>},
    {"tree_2", "1 reader at a time", "section 3.1", bcast_tree<2>, tree_waits<2>},
    {"tree_8", "7 readers at a time", "section 3.1", bcast_tree<8>, tree_waits<8>},
};
constexpr Staged reduces[] = {
    {"tree", "binary tree", "(1) (2)", reduce_tree<2>, tree_waits<2>, tree_fetches_back},
    {"tree_3", "trees of 3", "(1) (2)", reduce_tree<3>, tree_waits<3>, tree_fetches_back},
    {"tree_4", "trees of 4", "(1) (2)", reduce_tree<4>, tree_waits<4>, tree_fetches_back},
    {"tree_8", "trees of 8", "(1) (2)", reduce_tree<8>, tree_waits<8>, tree_fetches_back},
    {"tiled_naive", "p tiles, all from one rank at once", "section 3.2", model::naive_tiled_reduce,
     tile_waits, all_fetch_back},
    {"tiled_cyclic", "p tiles, each from another rank", "section 3.2", model::cyclic_tiled_reduce,
     tile_waits, all_fetch_back},
    {"tiled_hierarchical", "tiles inside, trees between parts", "(8) (9)", model::tiled_reduce,
     [](const Machine& x) { return 1.0 + x.levels; }, tiles_fetch_back},
};

/// `x`: as far as the vectors fit the cache.
void add_staged(std::vector<Candidate>& out, const Machine& x, const Setting& s) {
  const double m = lines_of(s.bytes);
  const auto add = [&](const char* name, Prediction cost) {
    cost.add("steps at the board", "1 + waits, built in", (1 + cost.turns()) * x.step);
    out.push_back({name, with_call(x, std::move(cost))});
  };
  // What others are to read: as in the equations in the ranks' own buffers, whose owners stay until
  // they have, or copied to where they can read it.
  const auto shown = [&](Prediction own) {
    if (s.threads) return own.wait(1);
    return Prediction().add("copy to the board", "(copy + b/4) m", (x.copy + x.top().taken()) * m);
  };
  const double back = x.top().back() * m;
  const bool staged = model::bcast_staged(x, m) < model::bcast_one_stage(x, m);
  const Staged& result = bcasts[staged ? 1 : 0];
  switch (s.call) {
    case Call::barrier:
      return add("tree", Prediction()
                             .wait(tree_waits<2>(x) + x.levels)
                             .add("flags up and down", "(5), one line", model::barrier(x, 2)));
    case Call::bcast:
      for (const Staged& a : bcasts)
        add(a.name, shown(Prediction().add_for_one("the root fetches its lines back", "w m", back))
                        .wait(a.waits(x))
                        .add(a.what, a.source, a.cost(x, m)));
      return;
    case Call::reduce:
    case Call::allreduce:
      for (const Staged& a : reduces) {
        Prediction cost = shown(a.fetched_back(x, m));
        cost.wait(a.waits(x)).add(a.what, a.source, a.cost(x, m));
        if (s.call == Call::allreduce)
          cost.wait(result.waits(x)).add(result.what, result.source, result.cost(x, m));
        add(a.name, std::move(cost));
      }
      if (s.call == Call::allreduce)
        add("dissemination", shown(all_fetch_back(x, m))
                                 .wait(tree_waits<2>(x))
                                 .add("dissemination", "(6) (7)", model::dissemination(x, m)));
      return;
    case Call::scan: {
      Prediction cost = shown(all_fetch_back(x, m));
      const double steps = x.ranks() - 1;
      return add("chain", cost.wait(steps)
                              .add("rank by rank", "(p-1) (a + (b + reduce) m)",
                                   steps * (x.top().read(m, 1) + x.reduce * m))
                              .add("copy the own vector", "copy m", x.copy * m));
    }
    default:  // everybody reads from everybody, as the ways through Shared, but flag by flag
      return add("exchange", (s.threads ? direct_cost : block_cost)(s.call, x, s.bytes, true));
  }
}

}  // namespace

std::span<const Call> explained_calls() {
  return calls;
}

bool find_call(std::string_view name, Call* out) {
  const auto at = std::find_if(std::begin(calls), std::end(calls),
                               [&](Call call) { return call_name(call) == name; });
  if (at == std::end(calls)) return false;
  *out = *at;
  return true;
}

Prediction messages_cost(const Machine& x, const Cost& cost, bool exchange) {
  const model::Level& top = x.top();
  const int at_once = exchange && x.levels > 1 ? x.ranks_in(x.levels - 2) : 1;
  const double line = x.copy + std::max(top.b, top.B * at_once);
  Prediction out;
  out.add("messages", "alpha = software + 2 lines",
          static_cast<double>(cost.messages) * (x.message + 2 * top.line()));
  out.add("bytes", exchange ? "beta = 2 (copy + max(b, Bq)) per line" : "beta = copy + b per line",
          (exchange ? 2 : 1) * lines_of(cost.bytes) * line);
  out.add("folds", "gamma = reduce per line", lines_of(cost.reduced) * x.reduce);
  out.wait(static_cast<double>(cost.messages));
  return out;
}

std::vector<Candidate> candidates(const Machine& x, const Setting& s) {
  std::vector<Candidate> out;
  add_shared(out, x, s);
  const double lines = footprint(s.call, x, s.bytes);
  const Machine there = x.holding_lines(lines, model::Others::in_memory);
  Machine between = x.holding_lines(lines, model::Others::in_cache);
  between.reduce = there.reduce;  // of what a message brought and an own buffer
  for (const Algorithm& a : algorithms)
    if (a.call == s.call && (s.commutative || !a.commutative_only))
      out.push_back(
          {a.name, with_call(x, messages_cost(between, a.cost(x.ranks(), s.bytes), a.exchange))});
  add_staged(out, there, s);
  return out;
}

namespace {

/// The cost along the node's levels, at boards, of calls that may leave the shared block for them:
/// reductions, and broadcasts that do not fit a slot.
double along_levels(const Machine& x, const Setting& s) {
  const bool may = s.call == Call::reduce || s.call == Call::allreduce ||
                   (s.call == Call::bcast && !fits_slot(way_case(x, s)));
  if (!may || x.levels < 2) return INFINITY;
  std::vector<Candidate> all;
  add_staged(all, x.holding_lines(footprint(s.call, x, s.bytes), model::Others::in_memory), s);
  const std::string_view name = node_name(s.call, {x.levels, s.bytes, s.crowded});
  return std::find_if(all.begin(), all.end(), [&](const Candidate& c) { return c.name == name; })
      ->cost.seconds();
}

/// Where ranks take turns a tree copies nothing and wakes each rank once; what that is worth the
/// model does not see. Measured, bench collectives, 4 and 8 threads on a 2-core EPYC, 2026-11-22,
/// direct / tree, 16, 64, 256 KiB, near: reduce 1.3, 1.3, 1.0 (0.9 with 8), allreduce 0.8, 0.95,
/// 0.8; far: 1.7, 2.4, 2.4 and 1.4, 1.6, 1.7.
bool is_for_trees(const WayCase& c) {
  const std::int64_t above = c.call == Call::reduce ? 8 << 10 : 16 << 10;
  return c.crowded && c.reach && (c.call == Call::reduce || c.call == Call::allreduce) &&
         c.bytes > above && c.bytes <= 256 << 10;
}

}  // namespace

Way fastest_shared(const Machine& x, const WayCase& c) {
  const bool has_boards = x.ranks() <= Boards::ranks_max;
  if (has_boards && is_for_trees(c)) return Way::schedule;
  // MPI_Exscan is priced as MPI_Scan, and so on.
  const Call* same = std::find_if(std::begin(calls), std::end(calls), [&](Call call) {
    return way_parameter(call) == way_parameter(c.call);
  });
  if (same == std::end(calls)) return Way::automatic;
  const Setting s{.call = *same,
                  .bytes = size_class(c.bytes),
                  .threads = c.reach,
                  .crowded = c.crowded,
                  .shared_max = c.slot_bytes};
  std::vector<Candidate> all;
  add_shared(all, x, s);
  const auto best = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.cost.seconds() < b.cost.seconds();
  });
  if (best == all.end()) return Way::automatic;
  // Slots come first. What is saved must be more than the model may be wrong.
  const bool worth_it = all[0].name != slots || best->cost.seconds() < 0.67 * all[0].cost.seconds();
  const Candidate& taken = worth_it ? *best : all[0];
  if (has_boards && along_levels(x, s) < 0.67 * taken.cost.seconds()) return Way::schedule;
  return kind_of(c.call, taken.name);
}

const char* chosen(const Machine& x, const Setting& s) {
  WayCase c = way_case(x, s);
  if (x.levels > 1 && c.bytes > 0) c.advised = fastest_shared(x, c);
  if (c.slot_bytes == 0) return schedule_name(x, s);
  const NodeCase along{x.levels, s.bytes, s.crowded, s.asked};
  if (c.asked == Way::schedule)
    return is_node_name(s.call, s.asked) ? node_name(s.call, along) : schedule_name(x, s);
  const Way way = choose_way(c);
  return way == Way::schedule ? node_name(s.call, along) : name_of(s.call, way);
}

}  // namespace weft::coll
