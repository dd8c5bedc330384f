// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm of node/, and emitting it at a board of the communicator. What decides is the
// same on all ranks: the collective, its size, the operation, the levels, the name asked for.
#pragma once

#include <optional>
#include <string_view>

#include "coll/node/algorithms.h"
#include "coll/state.h"
#include "coll/way.h"

namespace weft::coll {

/// What a choice of node/ depends on.
struct NodeCase {
  int depth = 1;  // levels that divide the ranks
  std::int64_t bytes = 0;
  bool crowded = false;  // more ranks than CPUs
  std::string_view asked = {};
};
/// The name of the algorithm of node/ for a call that goes this way.
const char* node_name(Call call, const NodeCase& c);
/// Is `name` one of node/ for this call?
bool is_node_name(Call call, std::string_view name);

/// What the communicator keeps for node/, made when first wanted.
NodeState& node_state(Comm& comm);

// Emit the call at a board. False, and nothing is emitted, if it cannot or is not to go this way:
// then it goes by messages.
bool barrier_on_node(Schedule& s, Comm& comm, const How& how);
bool bcast_on_node(Schedule& s, const Buffer& buffer, int root, Comm& comm, const How& how);
bool gather_on_node(Call call, Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                    Comm& comm, const How& how);
bool scatter_on_node(Call call, Schedule& s, const Blocks& send, const Buffer& recv, int root,
                     Comm& comm, const How& how);
bool allgather_on_node(Call call, Schedule& s, const ConstBuffer& send, const Blocks& recv,
                       Comm& comm, const How& how);
bool alltoall_on_node(Call call, Schedule& s, const Blocks& send, const Blocks& recv, Comm& comm,
                      const How& how);
bool reduce_on_node(Schedule& s, const Operands& x, int root, Comm& comm, const How& how);
bool allreduce_on_node(Schedule& s, const Operands& x, Comm& comm, const How& how);
bool scan_on_node(Call call, Schedule& s, const Operands& x, Comm& comm, const How& how);
bool reduce_scatter_on_node(Call call, Schedule& s, const Operands& x, const Parts& parts,
                            Comm& comm, const How& how);

}  // namespace weft::coll
