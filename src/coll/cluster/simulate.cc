// SPDX-License-Identifier: Apache-2.0
#include "coll/cluster/simulate.h"

#include <algorithm>

#include "coll/block/steps.h"
#include "coll/boards/board.h"
#include "coll/choose.h"
#include "coll/limits.h"
#include "coll/nodes/nodes.h"
#include "coll/walk.h"
#include "memory/job.h"
#include "net/limits.h"
#include "pt2pt/engine.h"
#include "shm/fragments.h"
#include "wire/cell.h"

namespace weft::coll {
namespace {

using model::Machine;

Machine across(const Declared& cluster) {
  return model::machine_across(cluster.nodes, cluster.each(), cluster.network);
}

Case case_of(const Declared& cluster, Call call, std::int64_t bytes) {
  return {.call = call,
          .bytes = bytes,
          .boards = false,
          .across = cluster.each() > 1,
          .rows = true,
          .even = true,
          .ranks = cluster.ranks(),
          .most_here = cluster.each()};
}

/// Emits the schedules of one call, rank by rank.
class Emitter {
 public:
  Emitter(const Declared& cluster, const Way& way, Call call, std::int64_t bytes)
      : way_(way),
        p_(cluster.ranks()),
        each_(cluster.each()),
        call_(call, bytes, p_),
        cluster_(Nodes::rows(cluster.nodes, each_), cluster.node, across(cluster)),
        ground_(levels_of(cluster.node)) {
    areas_.direct = cluster.threads;
    phases.asked = cluster.on_node;
  }
  void emit(int rank) {
    schedule.clear();
    schedule.imagine();
    phases.marks.clear();
    if (way_.place == Place::messages) {
      way_.by_messages(schedule, call_.operation, {rank, p_});
    } else {
      const Site site{ground_, areas_, {rank % each_, each_}};
      way_.at_nodes(schedule, call_.operation,
                    {.cluster = cluster_, .rank = rank, .site = &site, .marked = &phases});
    }
    schedule.next_round();
  }
  Schedule schedule;
  NodePhases phases;

 private:
  static Levels levels_of(const Machine& x) {
    std::vector<int> sizes;
    for (int l = x.levels - 2; l >= 0; --l) sizes.push_back(x.ranks_in(l));
    return {x.ranks(), sizes};
  }
  const Way& way_;
  const int p_, each_;
  const ImaginedCall call_;
  Cluster cluster_;
  Ground ground_;
  Areas areas_{};
};

/// Would there be far more steps than can be replayed? By some ranks in the middle.
bool is_hopeless(const Declared& cluster, const Way& way, Emitter& emitter) {
  const bool leaders = way.place == Place::nodes;
  const std::int64_t many = leaders ? cluster.nodes : cluster.ranks();
  std::int64_t least = INT64_MAX;
  for (const int node : {0, cluster.nodes / 2, cluster.nodes - 1}) {
    emitter.emit(
        std::min(node * cluster.each() + (leaders ? 0 : cluster.each() / 2), cluster.ranks() - 1));
    least = std::min(least, static_cast<std::int64_t>(emitter.schedule.steps().size()));
  }
  return least > 2 * replayed_steps_max / many;
}

}  // namespace

Simulated simulate(const Declared& cluster, const Way& way, Call call, std::int64_t bytes) {
  Simulated out;
  Emitter emitter(cluster, way, call, bytes);
  if (is_hopeless(cluster, way, emitter)) return {.is_too_long = true, .result = {}};
  Replay replay(
      cluster.node.holding_lines(footprint(call, cluster.ranks(), bytes), model::Others::in_memory),
      cluster.network, cluster.hop, cluster.fabric, cluster.nodes, cluster.each());
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    emitter.emit(rank);
    const auto steps = static_cast<std::int64_t>(emitter.schedule.steps().size() * sizeof(Step));
    out.memory = std::max(out.memory, steps + emitter.schedule.imagined_bytes());
    if (!replay.add(emitter.schedule, emitter.phases.marks))
      return {.is_too_long = true, .result = {}};
  }
  out.result = replay.run();
  return out;
}

std::vector<const Way*> ways_across(const Declared& cluster, Call call, std::int64_t bytes) {
  const Case c = case_of(cluster, call, bytes);
  const bool in_order = false;  // as for operations that commute
  std::vector<const Way*> out;
  for (const Way& way : ways_of(call))
    if ((way.place == Place::messages || way.place == Place::nodes) && !way.only_if_asked &&
        (in_order || !way.in_rank_order) && is_legal(way, c))
      out.push_back(&way);
  return out;
}

const Way& way_taken(const Declared& cluster, Call call, std::int64_t bytes) {
  Choices choices{.machine = across(cluster)};
  return choose(choices, case_of(cluster, call, bytes));
}

WireUp wire_up(const Declared& cluster, int width, std::int64_t address_bytes) {
  // An agent says hello, which passes the agents between (launch/branches.h). That all have begun
  // which are behind it, and its ranks' addresses with theirs, of the first and then of all others,
  // each agent says once to the one above. From there comes once what is for all, the order and all
  // addresses; and the names of the hosts that it is to start, if there are any.
  const std::int64_t nodes = cluster.nodes, ranks = cluster.ranks(), each = cluster.each();
  constexpr std::int64_t begun = 1, for_all = 2;
  const auto addresses = [](std::int64_t ranks_behind) -> std::int64_t {
    return ranks_behind > 1 ? 2 : 1;
  };
  WireUp out;
  // A row is cut into `width` parts, the first host of each is one deeper, what is behind goes on.
  struct Row {
    std::int64_t count, depth;
  };
  for (std::vector<Row> rows{{nodes, 1}}; !rows.empty();) {
    const Row row = rows.back();
    rows.pop_back();
    const std::int64_t parts = std::min<std::int64_t>(row.count, width);
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t size = row.count * (i + 1) / parts - row.count * i / parts;
      const std::int64_t down = for_all + (size > 1 ? 1 : 0);
      const std::int64_t up = begun + addresses(size * each);
      out.messages += row.depth + up + down;
      if (row.depth == 1) out.sent += down;
      if (row.depth == 1) out.got += up;
      out.deepest = std::max(out.deepest, row.depth);
      if (size > 1) rows.push_back({size - 1, row.depth + 1});
    }
  }
  out.got += nodes;  // hello
  out.addresses_bytes = addresses_frame_bytes + ranks * (address_head_bytes + address_bytes);
  out.first_bytes = std::min<std::int64_t>(nodes, width) * out.addresses_bytes;
  out.node_messages = 1 + begun + addresses(each) + for_all;
  const std::int64_t kept = (address_bytes + 1 + 63) / 64 * 64;
  const Params params = Params::from_env(false);
  out.memory_per_node =
      ranks * (static_cast<std::int64_t>(sizeof(memory::RankEntry) + sizeof(std::int32_t)) + kept) +
      each * (params.integer(P::shm_ring_bytes) + params.integer(P::shm_ring_cells) * 64);
  constexpr std::int64_t rooms = net::rooms_to_receive + net::rooms_to_send;
  constexpr auto room_bytes =
      static_cast<std::int64_t>(sizeof(wire::Cell)) + std::int64_t{shm::Fragments::bytes};
  // Its place among the peers, and in the world's group; how ranks lie on nodes, for collectives
  // across them and for their prices.
  const auto all = static_cast<std::size_t>(ranks);
  const auto others =
      static_cast<std::int64_t>(pt2pt::Peers::bytes(all, 0) + all * sizeof(std::int32_t) +
                                2 * Nodes::rows(cluster.nodes, static_cast<int>(each)).bytes());
  out.memory_for_other = (others + ranks - 1) / ranks;
  out.memory_per_rank = others + rooms * room_bytes;
  out.memory_per_peer = static_cast<std::int64_t>(pt2pt::Peers::bytes(0, 1));
  return out;
}

}  // namespace weft::coll
