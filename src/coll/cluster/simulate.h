// SPDX-License-Identifier: Apache-2.0
//
// What a collective would do on a cluster that is only declared: all ranks emit the schedules that
// they would run there, which are replayed (replay.h). And what it takes to start a job there. For
// `weft simulate`.
#pragma once

#include <string_view>

#include "coll/cluster/replay.h"
#include "coll/ways.h"

namespace weft::coll {

struct Declared {
  int nodes = 2;
  model::Machine node;     // with the ranks of one node
  model::Network network;  // between nodes
  double hop = 0;          // s more for each link of a route
  bool threads = false;    // ranks of a node are one process
  Fabric fabric;
  std::string_view on_node = {};  // a way for the phases on nodes where it can be gone

  int each() const { return node.ranks(); }
  int ranks() const { return nodes * each(); }
};

struct Simulated {
  bool is_too_long = false;  // more steps than can be replayed; nothing else is known
  Replay::Result result;
  std::int64_t memory = 0;  // bytes of steps and room, of that rank which needs most
};

/// One call of so many bytes (as in messages/algorithms.h), root 0, all ranks at once. The way is
/// by messages or in phases.
Simulated simulate(const Declared& cluster, const Way& way, Call call, std::int64_t bytes);

/// The ways by which a cluster's ranks could go, as weft considers them, and the one that it takes.
std::vector<const Way*> ways_across(const Declared& cluster, Call call, std::int64_t bytes);
const Way& way_taken(const Declared& cluster, Call call, std::int64_t bytes);

/// How ranks come to know each other when mpiexec's agents start them (launch/agent.h), and the
/// memory that this takes, counted from what the code sends and allocates.
struct WireUp {
  std::int64_t messages = 0;         // frames from process to process of the tree of agents,
  std::int64_t sent = 0, got = 0;    // and of them those that mpiexec sends and gets
  std::int64_t deepest = 0;          // agents between the farthest host and mpiexec, itself too
  std::int64_t addresses_bytes = 0;  // of all ranks' addresses, once along an edge of the tree
  std::int64_t first_bytes = 0;      // of them that leave mpiexec
  std::int64_t node_messages = 0;  // frames that one host sends and receives, which has none below
  std::int64_t memory_per_node = 0;   // of the job's memory file that is touched
  std::int64_t memory_per_rank = 0;   // of a rank's own, before it speaks to anybody,
  std::int64_t memory_for_other = 0;  // and of that, for each other rank
  std::int64_t memory_per_peer = 0;   // for each other rank that it speaks to
};
/// `width`: agents that one process starts; `address_bytes`: of a rank's addresses, as text.
WireUp wire_up(const Declared& cluster, int width, std::int64_t address_bytes);

}  // namespace weft::coll
