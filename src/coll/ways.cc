// SPDX-License-Identifier: Apache-2.0
#include "coll/ways.h"

#include "coll/boards/algorithms.h"
#include "coll/messages/algorithms.h"
#include "coll/nodes/algorithms.h"

namespace weft::coll {
namespace {

// From the arguments of a call to those of the algorithms. `At`: Position of messages, Site of
// boards, Across of nodes; `n`: how many parts a tree joins in one step.
template <auto emit, class At>
void barrier(Schedule& s, const Operation&, const At& at) {
  emit(s, at);
}
template <auto emit, class At, int... n>
void bcast(Schedule& s, const Operation& o, const At& at) {
  emit(s, o.buffer, o.root, at, n...);
}
template <auto emit, class At>
void gather(Schedule& s, const Operation& o, const At& at) {
  emit(s, o.send, *o.to, o.root, at);
}
template <auto emit, class At>
void scatter(Schedule& s, const Operation& o, const At& at) {
  emit(s, *o.from, o.buffer, o.root, at);
}
template <auto emit, class At>
void allgather(Schedule& s, const Operation& o, const At& at) {
  emit(s, o.send, *o.to, at);
}
template <auto emit, class At>
void alltoall(Schedule& s, const Operation& o, const At& at) {
  emit(s, *o.from, *o.to, at);
}
template <auto emit, class At, int... n>
void reduce(Schedule& s, const Operation& o, const At& at) {
  emit(s, *o.operands, o.root, at, n...);
}
template <auto emit, class At, int... n>
void allreduce(Schedule& s, const Operation& o, const At& at) {
  emit(s, *o.operands, at, n...);
}
template <auto emit, class At>
void reduce_scatter(Schedule& s, const Operation& o, const At& at) {
  emit(s, *o.operands, *o.parts, at);
}
template <auto emit_scan, auto emit_exscan, class At>
void scan(Schedule& s, const Operation& o, const At& at) {
  (o.call == Call::scan ? emit_scan : emit_exscan)(s, *o.operands, at);
}

constexpr Way slots{"slots", Place::slots};
constexpr Way direct{"direct", Place::direct};
/// What flows one way goes in pieces, what everybody needs of everybody in strips.
constexpr Way pieces{"pieces", Place::block};
constexpr Way strips{"strips", Place::block};

constexpr Way at_board(const char* name, decltype(Way::at_board) emit) {
  return {.name = name, .place = Place::board, .at_board = emit};
}
constexpr Way by_messages(const char* name, decltype(Way::by_messages) emit) {
  return {.name = name, .place = Place::messages, .by_messages = emit};
}
constexpr Way in_phases(const char* name, decltype(Way::at_nodes) emit) {
  return {.name = name, .place = Place::nodes, .at_nodes = emit};
}
constexpr Way alike(Way way) {
  way.alike = true;
  return way;
}
/// To compare, or to find out where the paper's other algorithms are faster.
constexpr Way only_if_asked(Way way) {
  way.only_if_asked = true;
  return way;
}
constexpr Way uniform_only(Way way) {
  way.uniform_only = true;
  return way;
}
constexpr Way commutative_only(Way way) {
  way.commutative_only = true;
  return way;
}
constexpr Way for_nodes(Way way) {
  way.for_nodes = true;
  return way;
}
constexpr Way rows_only(Way way) {
  way.rows_only = true;
  return way;
}
constexpr Way in_columns(Way way) {
  way.in_columns = true;
  return way;
}
constexpr Way block_by_block(Way way) {
  way.block_by_block = true;
  return way;
}
/// Also with coll.reproducible.
constexpr Way in_rank_order(Way way) {
  way.in_rank_order = true;
  return way;
}

constexpr Way allgathers[] = {
    slots,
    direct,
    strips,
    uniform_only(alike(by_messages("bruck", allgather<allgather_bruck, Position>))),
    by_messages("ring", allgather<allgather_ring, Position>),
    alike(at_board("exchange", allgather<allgather_exchange, Site>)),
    in_phases("nodes", allgather<allgather_nodes, Across>),
};

constexpr Way allreduces[] = {
    slots,
    direct,
    strips,
    by_messages("recursive_doubling", allreduce<allreduce_recursive_doubling, Position>),
    commutative_only(by_messages("rabenseifner", allreduce<allreduce_rabenseifner, Position>)),
    in_rank_order(by_messages("ordered", allreduce<allreduce_ordered, Position>)),
    commutative_only(at_board("tree", allreduce<allreduce_tree, Site, reduce_arity>)),
    commutative_only(
        at_board("tree_one_stage", allreduce<allreduce_tree_one_stage, Site, reduce_arity>)),
    only_if_asked(
        commutative_only(at_board("tiled_naive", allreduce<allreduce_tiled_naive, Site>))),
    only_if_asked(
        commutative_only(at_board("tiled_cyclic", allreduce<allreduce_tiled_cyclic, Site>))),
    commutative_only(at_board("tiled_hierarchical", allreduce<allreduce_tiled_hierarchical, Site>)),
    only_if_asked(
        commutative_only(at_board("dissemination", allreduce<allreduce_dissemination, Site>))),
    commutative_only(only_if_asked(at_board("tree_3", allreduce<allreduce_tree, Site, 3>))),
    commutative_only(at_board("tree_4", allreduce<allreduce_tree, Site, 4>)),
    commutative_only(only_if_asked(at_board("tree_8", allreduce<allreduce_tree, Site, 8>))),
    commutative_only(in_phases("nodes", allreduce<allreduce_nodes, Across>)),
    commutative_only(in_phases("nodes_parts", allreduce<allreduce_parts, Across>)),
    commutative_only(in_phases("nodes_segments", allreduce<allreduce_segments, Across>)),
};

constexpr Way alltoalls[] = {
    slots,
    direct,
    strips,
    uniform_only(alike(by_messages("bruck", alltoall<alltoall_bruck, Position>))),
    alike(by_messages("pairwise", alltoall<alltoall_pairwise, Position>)),
    for_nodes(alike(by_messages("scattered", alltoall<alltoall_scattered, Position>))),
    alike(at_board("exchange", alltoall<alltoall_exchange, Site>)),
    block_by_block(in_phases("nodes", alltoall<alltoall_nodes, Across>)),
    in_columns(uniform_only(in_phases("nodes_parts", alltoall<alltoall_parts, Across>))),
};

constexpr Way barriers[] = {
    slots,
    alike(by_messages("dissemination", barrier<barrier_dissemination, Position>)),
    at_board("tree", barrier<barrier_tree, Site>),
    in_phases("nodes", barrier<barrier_nodes, Across>),
};

constexpr Way bcasts[] = {
    slots,
    direct,
    pieces,
    by_messages("binomial", bcast<bcast_binomial, Position>),
    by_messages("scatter_allgather", bcast<bcast_scatter_allgather, Position>),
    at_board("one_stage", bcast<bcast_one_stage, Site>),
    at_board("two_stage", bcast<bcast_two_stage, Site>),
    only_if_asked(at_board("tree", bcast<bcast_tree, Site, bcast_arity>)),
    only_if_asked(at_board("tree_2", bcast<bcast_tree, Site, 2>)),
    only_if_asked(at_board("tree_8", bcast<bcast_tree, Site, 8>)),
    in_phases("nodes", bcast<bcast_nodes, Across>),
    in_phases("nodes_segments", bcast<bcast_segments, Across>),
};

constexpr Way gathers[] = {
    slots,
    direct,
    pieces,
    uniform_only(by_messages("binomial", gather<gather_binomial, Position>)),
    by_messages("linear", gather<gather_linear, Position>),
    at_board("exchange", gather<gather_exchange, Site>),
    uniform_only(at_board("two_stage", gather<gather_two_stage, Site>)),
    in_phases("nodes", gather<gather_nodes, Across>),
};

constexpr Way reduces[] = {
    slots,
    direct,
    strips,
    by_messages("binomial", reduce<reduce_binomial, Position>),
    in_rank_order(by_messages("ordered", reduce<reduce_ordered, Position>)),
    commutative_only(at_board("tree", reduce<reduce_tree, Site, reduce_arity>)),
    commutative_only(only_if_asked(at_board("tiled_naive", reduce<reduce_tiled_naive, Site>))),
    commutative_only(only_if_asked(at_board("tiled_cyclic", reduce<reduce_tiled_cyclic, Site>))),
    commutative_only(at_board("tiled_hierarchical", reduce<reduce_tiled_hierarchical, Site>)),
    only_if_asked(commutative_only(at_board("tree_3", reduce<reduce_tree, Site, 3>))),
    commutative_only(at_board("tree_4", reduce<reduce_tree, Site, 4>)),
    only_if_asked(commutative_only(at_board("tree_8", reduce<reduce_tree, Site, 8>))),
    commutative_only(in_phases("nodes", reduce<reduce_nodes, Across>)),
    commutative_only(in_phases("nodes_segments", reduce<reduce_segments, Across>)),
};

constexpr Way reduce_scatters[] = {
    slots,
    direct,
    strips,
    by_messages("rooted", reduce_scatter<reduce_scatter_rooted, Position>),
    commutative_only(
        alike(by_messages("pairwise", reduce_scatter<reduce_scatter_pairwise, Position>))),
    in_rank_order(alike(by_messages("ordered", reduce_scatter<reduce_scatter_ordered, Position>))),
    commutative_only(alike(at_board("exchange", reduce_scatter<reduce_scatter_exchange, Site>))),
    commutative_only(in_phases("nodes", reduce_scatter<reduce_scatter_nodes, Across>)),
};

constexpr Way scans[] = {
    slots,
    pieces,
    by_messages("recursive_doubling",
                scan<scan_recursive_doubling, exscan_recursive_doubling, Position>),
    in_rank_order(by_messages("linear", scan<scan_linear, exscan_linear, Position>)),
    in_rank_order(at_board("chain", scan<scan_chain, exscan_chain, Site>)),
    rows_only(in_phases("nodes", scan<scan_nodes, exscan_nodes, Across>)),
};

constexpr Way scatters[] = {
    slots,
    direct,
    pieces,
    uniform_only(by_messages("binomial", scatter<scatter_binomial, Position>)),
    by_messages("linear", scatter<scatter_linear, Position>),
    at_board("exchange", scatter<scatter_exchange, Site>),
    uniform_only(at_board("two_stage", scatter<scatter_two_stage, Site>)),
    in_phases("nodes", scatter<scatter_nodes, Across>),
};

constexpr std::span<const Way> table[families] = {
    allgathers, allreduces, alltoalls,       barriers, bcasts,
    gathers,    reduces,    reduce_scatters, scans,    scatters};

}  // namespace

std::span<const Way> ways_of(Call call) {
  const int row = family(call);
  return row < 0 ? std::span<const Way>() : table[row];
}

const Way* find_way(Call call, std::string_view name) {
  for (const Way& way : ways_of(call))
    if (way.name == name) return &way;
  return nullptr;
}

const Way* way_at(Call call, Place place) {
  for (const Way& way : ways_of(call))
    if (way.place == place) return &way;
  return nullptr;
}

const ParamDef& way_parameter(Call call) {
  return param_table()[static_cast<std::size_t>(static_cast<int>(P::coll_allgather) +
                                                family(call))];
}

}  // namespace weft::coll
