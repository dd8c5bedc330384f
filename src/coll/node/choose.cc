// SPDX-License-Identifier: Apache-2.0
#include "coll/node/choose.h"

#include <algorithm>

namespace weft::coll {
namespace {

template <class Emit>
struct Row {
  const char* name;
  Emit* emit;
};

using NodeBcast = void(Schedule&, const Buffer&, int root, const Site&);
using NodeReduce = void(Schedule&, const Operands&, int root, const Site&);
using NodeAllreduce = void(Schedule&, const Operands&, const Site&);

template <int arity>
void bcast_by_tree(Schedule& s, const Buffer& buffer, int root, const Site& node) {
  bcast_tree(s, buffer, root, node, arity);
}
template <int arity>
void reduce_by_tree(Schedule& s, const Operands& x, int root, const Site& node) {
  reduce_tree(s, x, root, node, arity);
}
template <int arity>
void allreduce_by_tree(Schedule& s, const Operands& x, const Site& node) {
  allreduce_tree(s, x, node, arity);
}

constexpr Row<NodeBcast> bcasts[] = {{"one_stage", bcast_one_stage},
                                     {"two_stage", bcast_two_stage},
                                     {"tree", bcast_by_tree<bcast_arity>},
                                     {"tree_2", bcast_by_tree<2>},
                                     {"tree_8", bcast_by_tree<8>}};
constexpr Row<NodeReduce> reduces[] = {{"tree", reduce_by_tree<reduce_arity>},
                                       {"tree_3", reduce_by_tree<3>},
                                       {"tree_4", reduce_by_tree<4>},
                                       {"tree_8", reduce_by_tree<8>},
                                       {"tiled_naive", reduce_tiled_naive},
                                       {"tiled_cyclic", reduce_tiled_cyclic},
                                       {"tiled_hierarchical", reduce_tiled_hierarchical}};
constexpr Row<NodeAllreduce> allreduces[] = {{"tree", allreduce_by_tree<reduce_arity>},
                                             {"tree_3", allreduce_by_tree<3>},
                                             {"tree_4", allreduce_by_tree<4>},
                                             {"tree_8", allreduce_by_tree<8>},
                                             {"tiled_naive", allreduce_tiled_naive},
                                             {"tiled_cyclic", allreduce_tiled_cyclic},
                                             {"tiled_hierarchical", allreduce_tiled_hierarchical},
                                             {"dissemination", allreduce_dissemination}};

/// The algorithm of that name; null: none.
template <class Emit, std::size_t N>
const Row<Emit>* named(const Row<Emit> (&rows)[N], std::string_view name) {
  const auto at =
      std::find_if(std::begin(rows), std::end(rows), [&](const auto& r) { return r.name == name; });
  return at == std::end(rows) ? nullptr : at;
}

// Where tiles overtake trees (Li, Hoefler, Snir: 14 and 16 KiB). With more ranks than CPUs never:
// there all work is done in turns, and a tree has the fewest waits. Measured, bench collectives
// --regret, 4 and 8 ranks on a 2-core EPYC, 2026-11, reduce of 16 KiB to 1 MiB: tiles 1.0 to 1.6 of
// the tree's time.
constexpr std::int64_t tree_max = 16 << 10;

/// A board for the operation, which `s` uses from now on; none if it goes another way.
std::optional<Site> begin(Call call, Schedule& s, Comm& comm, const How& how, std::int64_t bytes,
                          const char** name) {
  if (comm.is_inter() || comm.size() < 2) return {};
  NodeState& state = node_state(comm);
  if (state.boards == nullptr) return {};
  const std::string_view asked =
      comm.coll->settings.ways_matter ? asked_way(comm, call) : std::string_view{};
  if (kind_of(call, asked) == Way::schedule && !is_node_name(call, asked)) return {};
  *name = node_name(call, {state.levels.depth(), bytes, comm.engine->policy.crowded, asked});
  Boards* boards = state.boards;
  std::uint64_t number = 0;
  if (how.what == How::persistent) {
    boards = Boards::attach(comm, ++state.persistent);
    if (boards == nullptr) return {};
  } else {
    number = boards->take();
  }
  s.use(*boards, number);
  s.note(note_of(call, bytes, how.what));
  if (how.what == How::persistent) s.own_boards();
  tell_way(comm, call, bytes, *name);
  return Site{state, *boards, number, position(comm)};
}

/// Emit at a board: emit(name of the algorithm, site). False if the call goes another way.
template <class Emit>
bool on_node(Call call, Schedule& s, Comm& comm, const How& how, std::int64_t bytes, Emit&& emit) {
  const char* name = nullptr;
  const auto node = begin(call, s, comm, how, bytes, &name);
  if (node) emit(name, *node);
  return node.has_value();
}

bool is_eligible(const Operands& x, const Comm& comm) {
  return !comm.is_inter() && !comm.coll->settings.reproducible && x.op->commutative &&
         is_plain(*x.type);
}

}  // namespace

NodeState& node_state(Comm& comm) {
  CommState& state = *comm.coll;
  if (state.node == nullptr) [[unlikely]]
    state.node = new NodeState(comm);
  return *state.node;
}

bool is_node_name(Call call, std::string_view name) {
  switch (call) {
    case Call::barrier:
      return name == "tree";
    case Call::bcast:
      return named(bcasts, name) != nullptr;
    case Call::reduce:
      return named(reduces, name) != nullptr;
    case Call::allreduce:
      return named(allreduces, name) != nullptr;
    case Call::scan:
    case Call::exscan:
      return name == "chain";
    default:
      return name == "exchange";
  }
}

const char* node_name(Call call, const NodeCase& c) {
  const auto asked_or = [&](const auto& rows, const char* otherwise) {
    const auto* row = named(rows, c.asked);
    return row != nullptr ? row->name : otherwise;
  };
  const char* reduction = c.crowded || c.bytes <= tree_max ? "tree" : "tiled_hierarchical";
  switch (call) {
    case Call::barrier:
      return "tree";
    case Call::bcast:
      return asked_or(bcasts, c.depth > 1 ? "two_stage" : "one_stage");
    case Call::reduce:
      return asked_or(reduces, reduction);
    case Call::allreduce:
      return asked_or(allreduces, reduction);
    case Call::scan:
    case Call::exscan:
      return "chain";
    default:
      return "exchange";
  }
}

bool barrier_on_node(Schedule& s, Comm& comm, const How& how) {
  return on_node(Call::barrier, s, comm, how, 0,
                 [&](const char*, const Site& node) { barrier_tree(s, node); });
}

bool bcast_on_node(Schedule& s, const Buffer& buffer, int root, Comm& comm, const How& how) {
  return on_node(Call::bcast, s, comm, how, buffer.bytes(),
                 [&](const char* name, const Site& node) {
                   named(bcasts, name)->emit(s, buffer, root, node);
                 });
}

bool gather_on_node(Call call, Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                    Comm& comm, const How& how) {
  return on_node(call, s, comm, how, 0, [&](const char*, const Site& node) {
    gather_exchange(s, send, recv, root, node);
  });
}

bool scatter_on_node(Call call, Schedule& s, const Blocks& send, const Buffer& recv, int root,
                     Comm& comm, const How& how) {
  return on_node(call, s, comm, how, 0, [&](const char*, const Site& node) {
    scatter_exchange(s, send, recv, root, node);
  });
}

bool allgather_on_node(Call call, Schedule& s, const ConstBuffer& send, const Blocks& recv,
                       Comm& comm, const How& how) {
  return on_node(call, s, comm, how, 0,
                 [&](const char*, const Site& node) { allgather_exchange(s, send, recv, node); });
}

bool alltoall_on_node(Call call, Schedule& s, const Blocks& send, const Blocks& recv, Comm& comm,
                      const How& how) {
  return on_node(call, s, comm, how, 0,
                 [&](const char*, const Site& node) { alltoall_exchange(s, send, recv, node); });
}

bool reduce_on_node(Schedule& s, const Operands& x, int root, Comm& comm, const How& how) {
  return is_eligible(x, comm) && on_node(Call::reduce, s, comm, how, x.count * x.type->size,
                                         [&](const char* name, const Site& node) {
                                           named(reduces, name)->emit(s, x, root, node);
                                         });
}

bool allreduce_on_node(Schedule& s, const Operands& x, Comm& comm, const How& how) {
  return is_eligible(x, comm) && on_node(Call::allreduce, s, comm, how, x.count * x.type->size,
                                         [&](const char* name, const Site& node) {
                                           named(allreduces, name)->emit(s, x, node);
                                         });
}

bool scan_on_node(Call call, Schedule& s, const Operands& x, Comm& comm, const How& how) {
  const std::int64_t bytes = x.count * x.type->size;
  const bool asked = asked_way(comm, call) == "chain";
  // Many ranks with little data: a chain takes p-1 steps, recursive doubling lg p messages.
  const bool pays = comm.size() <= scan_ranks_max || bytes > Boards::area_bytes / 2;
  if (!is_plain(*x.type) || (!pays && !asked)) return false;
  return on_node(call, s, comm, how, bytes, [&](const char*, const Site& node) {
    (call == Call::scan ? scan_chain : exscan_chain)(s, x, node);
  });
}

bool reduce_scatter_on_node(Call call, Schedule& s, const Operands& x, const Parts& parts,
                            Comm& comm, const How& how) {
  return is_eligible(x, comm) &&
         on_node(
             call, s, comm, how, parts.before(comm.size()) * x.type->size,
             [&](const char*, const Site& node) { reduce_scatter_exchange(s, x, parts, node); });
}

}  // namespace weft::coll
