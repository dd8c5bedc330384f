// SPDX-License-Identifier: Apache-2.0
//
// Reductions across nodes: folded on each node, then between them. So a node sends what one rank
// would.
//
//   reduce          to leaders, then to the root                            A(n) + B(n)
//   allreduce       the same, all leaders get it and broadcast              2 A(n) + B(n)
//   in parts        each of L ranks of a node folds a part, reduces it with those that have the
//   same
//                   part on other nodes, and gives it to its node           2 A(n) + L B(n/L) at
//                   once
//   reduce_scatter  folded, scattered over nodes, then on each              A(n) + B(n) + A(n/N)
//   scan            on each node; the last rank has its total; what comes before a node is folded
//                   in front of its ranks'                                  2 A(n) + B(n)
//
// source   Karonis et al., IPDPS 2000; in parts: Bayatpour et al.: Scalable reduction collectives
//          with data partitioning-based multi-leader design, SC 2017
// legal    any root, count, type; MPI_IN_PLACE; operations that commute (scan: any); ranks may lie
// on
//          nodes as they like, but scan: nodes in rows
#include <numeric>

#include "coll/boards/algorithms.h"
#include "coll/nodes/algorithms.h"

namespace weft::coll {
namespace {

Case case_of(const Operands& x, std::int64_t count) {
  return {
      .bytes = count * x.type->size, .commutative = x.op->commutative, .plain = is_plain(*x.type)};
}
Buffer vector_at(void* data, const Operands& x) {
  return {data, x.count, x.type};
}
Operands with(const Operands& x, const void* send, void* recv) {
  return {send, recv, x.count, x.type, x.op};
}

/// The ranks of a node fold into `to` of its leader.
void reduce_here(Phases& phases, const Operands& x, const void* mine, void* to) {
  const Operands here = with(x, mine, to);
  phases.on_node({.call = Call::reduce, .root = phases.leader_place(), .operands = &here},
                 case_of(x, x.count));
}

}  // namespace

void reduce_nodes(Schedule& s, const Operands& x, int root, const Across& at) {
  Phases phases(s, at, root);
  const auto between = [&](const Operands& across) {
    phases.between({.call = Call::reduce, .root = phases.root_node(), .operands = &across},
                   case_of(x, x.count));
  };
  if (phases.alone()) return between(x);
  if (!phases.leads()) return reduce_here(phases, x, x.send, nullptr);
  if (at.rank == root) {
    reduce_here(phases, x, x.send, x.recv);
    return between(with(x, MPI_IN_PLACE, x.recv));
  }
  void* partial = s.elements(x.count, *x.type);
  reduce_here(phases, x, x.send, partial);
  between(with(x, partial, nullptr));
}

void allreduce_nodes(Schedule& s, const Operands& x, const Across& at) {
  Phases phases(s, at);
  const Case c = case_of(x, x.count);
  if (phases.alone()) return phases.between({.call = Call::allreduce, .operands = &x}, c);
  if (phases.leads())
    reduce_here(phases, x, x.send, x.recv);
  else
    reduce_here(phases, x, operand(x), nullptr);
  const Operands across = with(x, MPI_IN_PLACE, x.recv);
  phases.between({.call = Call::allreduce, .operands = &across}, c);
  phases.on_node(
      {.call = Call::bcast, .root = phases.leader_place(), .buffer = vector_at(x.recv, x)}, c);
}

void allreduce_parts(Schedule& s, const Operands& x, const Across& at) {
  Phases phases(s, at);
  const int parts = at.nodes().fewest(), me = phases.place();
  if (parts == 1) return allreduce_nodes(s, x, at);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(phases.here())), begins = counts;
  for (int i = 0; i < parts; ++i)
    counts[static_cast<std::size_t>(i)] = x.count / parts + (i < x.count % parts);
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), std::int64_t{0});
  const std::int64_t mine = counts[static_cast<std::size_t>(me)];
  void* const place = element(x.recv, begins[static_cast<std::size_t>(me)], *x.type);

  // In place, what is folded is where it must not be overwritten yet.
  void* part = is_in_place(x.send) ? s.elements(mine, *x.type) : place;
  const Operands here = with(x, operand(x), part);
  const Parts of_ranks({counts.data(), true});
  phases.on_node({.call = Call::reduce_scatter, .operands = &here, .parts = &of_ranks},
                 case_of(x, x.count));
  phases.meet();
  const Operands across{MPI_IN_PLACE, part, mine, x.type, x.op};
  phases.between_parts(parts, {.call = Call::allreduce, .operands = &across},
                       case_of(x, counts[0]));
  if (part != place) s.copy({part, mine, x.type}, {place, mine, x.type});
  s.next_round();
  const Blocks all(VBuffer{x.recv, {counts.data(), true}, {begins.data(), true}, x.type});
  phases.on_node({.call = Call::allgather, .send = {MPI_IN_PLACE, 0, x.type}, .to = &all},
                 {.bytes = counts[0] * x.type->size, .uniform = false});
}

void reduce_scatter_nodes(Schedule& s, const Operands& x, const Parts& parts, const Across& at) {
  Phases phases(s, at);
  const Nodes& nodes = at.nodes();
  Operands all = x;
  all.count = parts.before(nodes.ranks());
  const Case whole = case_of(x, all.count);
  const Buffer mine{x.recv, parts[at.rank], x.type};
  const auto here = [&](const Blocks& from) {
    phases.on_node(
        {.call = Call::scatterv, .root = phases.leader_place(), .buffer = mine, .from = &from},
        {.bytes = whole.bytes / nodes.ranks(), .uniform = false});
  };
  if (!phases.leads()) {
    reduce_here(phases, all, operand(x), nullptr);
    return here(Blocks(VBuffer{nullptr, {}, {}, x.type}));
  }
  std::vector<std::int64_t> counts;
  for (int i = 0; i < nodes.count(); ++i) {
    counts.push_back(0);
    for (const int rank : nodes.members(i)) counts.back() += parts[rank];
  }
  const Parts of_nodes({counts.data(), true});
  const auto between = [&](const Operands& across) {
    phases.between({.call = Call::reduce_scatter, .operands = &across, .parts = &of_nodes}, whole);
  };
  // Parts in the order of nodes.
  const auto by_node = [&](const void* vector) {
    if (nodes.in_rows()) return vector;
    void* const ordered = s.elements(all.count, *x.type);
    std::int64_t begin = 0;
    for (int i = 0; i < nodes.count(); ++i)
      for (const int rank : nodes.members(i)) {
        s.copy({element(vector, parts.before(rank), *x.type), parts[rank], x.type},
               {element(ordered, begin, *x.type), parts[rank], x.type});
        begin += parts[rank];
      }
    s.next_round();
    return static_cast<const void*>(ordered);
  };
  if (phases.alone())
    return nodes.in_rows() ? between(x) : between(with(x, by_node(operand(x)), x.recv));
  void* folded = s.elements(all.count, *x.type);
  reduce_here(phases, all, operand(x), folded);
  void* part = s.elements(counts[static_cast<std::size_t>(phases.node())], *x.type);
  between(with(all, by_node(folded), part));
  std::vector<std::int64_t> of_ranks, at_part;
  std::int64_t begin = 0;
  for (const int rank : nodes.members(phases.node())) {
    of_ranks.push_back(parts[rank]);
    at_part.push_back(begin);
    begin += parts[rank];
  }
  here(Blocks(VBuffer{part, {of_ranks.data(), true}, {at_part.data(), true}, x.type}));
}

namespace {

/// Every rank's result is that of its node's; `total`: of all ranks of the node, at its last rank.
/// `first`: this rank has none yet.
void put_before(Schedule& s, Phases& phases, const Operands& x, const void* total, bool first) {
  const Case c = case_of(x, x.count);
  void* before = s.elements(x.count, *x.type);
  const Operands across = with(x, total, before);
  phases.between({.call = Call::exscan, .operands = &across}, c);
  if (phases.node() == 0) return;  // nobody is before it
  phases.on_node(
      {.call = Call::bcast, .root = phases.leader_place(), .buffer = vector_at(before, x)}, c);
  s.next_round();
  if (first)
    s.copy({before, x.count, x.type}, vector_at(x.recv, x));
  else
    s.reduce(before, x.recv, x.count, *x.type, *x.op);
  s.next_round();
}

}  // namespace

void scan_nodes(Schedule& s, const Operands& x, const Across& at) {
  Phases phases(s, at, Phases::last_leads);
  if (phases.alone()) {
    if (!is_in_place(x.send)) s.copy({x.send, x.count, x.type}, vector_at(x.recv, x));
    s.next_round();
  }
  phases.on_node({.call = Call::scan, .operands = &x}, case_of(x, x.count));
  put_before(s, phases, x, x.recv, false);
}

void exscan_nodes(Schedule& s, const Operands& x, const Across& at) {
  Phases phases(s, at, Phases::last_leads);
  const bool first = phases.place() == 0;
  void* total = nullptr;
  if (phases.leads()) {
    total = s.elements(x.count, *x.type);
    s.copy({operand(x), x.count, x.type}, vector_at(total, x));
    s.next_round();
  }
  phases.on_node({.call = Call::exscan, .operands = &x}, case_of(x, x.count));
  if (phases.leads() && !first) s.reduce(x.recv, total, x.count, *x.type, *x.op);
  s.next_round();
  put_before(s, phases, x, total, first);
}

}  // namespace weft::coll
