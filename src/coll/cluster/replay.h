// SPDX-License-Identifier: Apache-2.0
//
// A discrete-event replay of the schedules that ranks emit, without data, on a declared cluster.
// Who has messages is replayed by itself: every rank of a way by messages, of a way in phases those
// that send or receive between nodes. For the others of a node stands what the walk (walk.h) says
// of the phase: it begins when the replayed ranks of the node have come to it, and they go on when
// it is over.
//
//   a message   software at both ends and a copy at each; between nodes it leaves when what leads
//               out of its node is free, and keeps it for gap and bytes; goes through the links of
//               its route (fabric.h), one after the other, each kept for its bytes; and comes in a
//               latency later when what leads into the node is free, which it keeps as long
//   a copy, a fold   per line, by the node's prices
//
// All begin together. Messages take links in the order in which they leave their nodes, and come
// in in the order in which they arrive. Long messages count as short ones: no offer goes before.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "coll/cluster/fabric.h"
#include "coll/nodes/phases.h"
#include "coll/schedule.h"
#include "model/machine.h"

namespace weft::coll {

class Replay {
 public:
  /// `each`: ranks of every node, in rows.
  Replay(const model::Machine& node, const model::Network& network, double hop,
         const Fabric& fabric, int nodes, int each);

  /// The next rank's schedule, which is not needed any more afterwards; ranks in order. False:
  /// there are more than replayed_steps_max.
  bool add(const Schedule& schedule, const std::vector<NodePhases::Mark>& marks);

  struct Result {
    double median = 0, longest = 0;                // s, of the ranks that were replayed
    std::int64_t replayed = 0, steps = 0;          // ranks, and what they did
    std::int64_t messages = 0, bytes = 0;          // out of that node that sends most
    std::int64_t all_messages = 0, all_bytes = 0;  // between all nodes
  };
  /// Once all ranks are there. Dies if ranks wait for each other, which no schedule may.
  Result run();

 private:
  enum class Kind : std::uint8_t { send, receive, work, phase };
  struct Op {
    double at = 0;           // receive: when it has come; work, phase: how long it takes
    std::int64_t bytes = 0;  // of a message
    std::int32_t peer = 0;
    std::int32_t other = -1;  // send: the number of its receive; receive: of its rank
    Kind kind = Kind::work;
    bool ends_round = false, is_here = false;
  };
  struct Rank {
    double now = 0;
    double sends = 0, receives = 0;  // messages of other nodes until then
    std::int32_t begin = 0, end = 0, next = 0;
    std::int32_t local = 0, round_end = 0, missing = 0;  // of the round: receives
    bool in_round = false, waits = false;
  };
  struct Node {
    double out = 0, in = 0;  // free from then on
    std::int32_t replayed = 0, come = 0;
    double phase = 0;  // the latest that has come
    std::int64_t messages = 0, bytes = 0;
  };
  struct Event {
    double at;
    std::int64_t what;  // a rank; or ~op: a message comes to its receiver's node
    bool operator<(const Event& other) const {  // the earliest is on top of the queue
      return at != other.at ? at > other.at : what > other.what;
    }
  };

  int node_of(std::int64_t rank) const { return static_cast<int>(rank / each_); }
  double cost_of(const Step& step) const;
  void match();
  void match_one(std::int32_t rank, const std::vector<std::pair<std::int32_t, std::int32_t>>& sent);
  void go_on(std::int32_t rank);
  void begin_round(std::int32_t rank);
  /// What it does itself, then its messages. False: it waits.
  bool go_on_in_round(std::int32_t rank);
  void end_round(std::int32_t rank);
  void join_phase(std::int32_t rank, const Op& op);
  void send(std::int32_t rank, std::int32_t op);
  void arrive(std::int32_t op, double at);
  void deliver(std::int32_t receive, double at);
  double between_here(std::int32_t a, std::int32_t b, std::int64_t bytes) const;

  const model::Machine node_;
  const model::Network network_;
  const double hop_;
  const Fabric& fabric_;
  const int each_;
  std::vector<Op> ops_;
  std::vector<Rank> ranks_;
  std::vector<Node> nodes_;
  std::vector<double> links_;  // free from then on
  std::vector<std::int64_t> route_;
  std::priority_queue<Event> events_;
};

}  // namespace weft::coll
