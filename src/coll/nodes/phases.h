// SPDX-License-Identifier: Apache-2.0
//
// Collectives of a communicator on several nodes, composed of phases: on each node, where its ranks
// meet at a board (or send messages, if it has none), and between nodes, where one rank of each,
// its leader, sends and receives messages. A phase is an ordinary collective of fewer ranks, which
// goes the way that is the cheapest there. So a node may go another way than the next one; between
// nodes all leaders choose alike, by prices that do not depend on the node.
//
// Phases follow each other: an operation that gathers at the leaders, crosses, and spreads from
// them has no rank begin the last phase before all of its node have finished the first one, so they
// share a board, whose phases go on counting (Schedule::stage).
//
// With `Phases::priced` nothing is emitted by a phase; its price is added up.
#pragma once

#include <map>
#include <string_view>
#include <utility>

#include "coll/boards/node.h"
#include "coll/choose.h"
#include "coll/nodes/nodes.h"
#include "coll/operation.h"
#include "model/prediction.h"

namespace weft::coll {

/// How the ranks of a communicator lie on nodes.
Nodes nodes_of(const object::Comm& comm);

/// How the ranks of a communicator lie on several nodes, and what was chosen for its phases.
struct Cluster {
  /// `node`: between the ranks of one node; `all`: between all ranks.
  Cluster(Nodes of_ranks, const model::Machine& node, const model::Machine& all,
          Ledger ledger = {});
  Nodes nodes;
  Choices on_node, between;
};

/// For who replays what leaders do between nodes (cluster/): phases on a node are not emitted, but
/// where they are in the schedule is marked, and what they cost by the walk.
struct NodePhases {
  struct Mark {
    std::size_t step;  // before it
    double seconds;
    bool beside;  // while the messages of the step before travel
  };
  std::vector<Mark> marks;                                        // of the schedule being emitted
  std::string_view asked = {};                                    // a way, where it can be gone
  std::map<std::pair<const Way*, std::int64_t>, double> seconds;  // by way and bytes
};

/// What an algorithm across nodes knows when it emits.
struct Across {
  Cluster& cluster;
  int rank;                            // of the communicator
  const Site* site;                    // of this rank's node; null: it has no board
  model::Prediction* price = nullptr;  // add it up, emit no phase
  NodePhases* marked = nullptr;        // emit phases between nodes only
  const Nodes& nodes() const { return cluster.nodes; }
};

class Phases {
 public:
  /// `root` leads its node, of the others the first rank does; or (last_leads) of each the last.
  static constexpr int last_leads = -1;
  static constexpr int usual_stages = 4;
  /// `stages`: how often ranks of the node do something together, at most.
  Phases(Schedule& s, const Across& at, int root = 0, int stages = usual_stages);
  /// Goes on from where `now` is, when the caller's `at` is gone.
  Phases(const Phases& now, const Across& at)
      : s_(now.s_),
        at_(at),
        root_(now.root_),
        node_(now.node_),
        stage_bits_(now.stage_bits_),
        stage_(now.stage_) {}

  bool leads() const { return at_.rank == leader(node_); }
  /// Is this rank the only one of its node?
  bool alone() const { return here() == 1; }
  int here() const { return nodes().size_of(node_); }
  int node() const { return node_; }
  int place() const { return nodes().place_of(at_.rank); }
  int root_node() const { return nodes().node_of(root_); }
  /// The place of this node's leader.
  int leader_place() const { return nodes().place_of(leader(node_)); }

  /// What all ranks of the node do, if these are several; ranks are counted there.
  void on_node(const Operation& o, Case c);
  /// What leaders do; nodes are counted.
  void between(const Operation& o, Case c);
  /// The same; while the leader's first messages travel, it does what `here` emits: phases on the
  /// node, that touch other data. At a board only, which messages of the node would not be.
  template <class Here>
  void between_beside(const Operation& o, Case c, Here here) {
    if (!leads() || at_.site == nullptr || !c.plain) {
      here();
      return between(o, c);
    }
    const auto emit = [](void* state) { (*static_cast<Here*>(state))(); };
    s_.next_round();
    s_.beside(emit, &here);
    is_beside_ = true;
    between(o, c);
    s_.flush_beside();
    is_beside_ = false;
    s_.next_round();
  }
  /// What the first `parts` ranks of each node do, each with those of the same place on the other
  /// nodes.
  void between_parts(int parts, const Operation& o, Case c);
  /// `n` bytes of each rank of the node, as all of them know, come to `all` of its leader, one
  /// behind the other.
  void tell(const std::byte* mine, std::byte* all, std::int64_t n);
  /// Areas are written again from here on; who reads them has to come first.
  void meet();
  /// All ranks of the node tell its leader that they have come; and are told by it to go on.
  void arrive();
  void leave();

 private:
  const Nodes& nodes() const { return at_.cluster.nodes; }
  int leader(int node) const {
    const auto members = nodes().members(node);
    if (root_ == last_leads) return members.back();
    return node == root_node() ? root_ : members.front();
  }
  void add_price(const model::Machine& x, const Way& way, const Case& c, bool reach);
  /// A phase on this node, or one of several parts.
  void mark(const Way& way, const Case& c, int of = 1);
  /// What is emitted next is a stage of its own.
  void begin_stage();
  void end_stage();
  template <class RankOf>
  void by_messages(const Operation& o, Case c, const model::Machine& x, RankOf&& rank_of);

  Schedule& s_;
  const Across& at_;
  const int root_, node_;
  const int stage_bits_;
  int stage_ = 0;
  bool is_beside_ = false;  // steps go to a round that is not theirs alone
};

/// What a way in phases costs; the same on all ranks.
model::Prediction price_across(Choices& choices, const Way& way, const Case& c);

}  // namespace weft::coll
