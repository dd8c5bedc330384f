// SPDX-License-Identifier: Apache-2.0
#include "coll/nodes/phases.h"

#include "coll/block/steps.h"
#include "coll/boards/algorithms.h"
#include "coll/walk.h"

namespace weft::coll {

namespace {

model::Machine of_leaders(model::Machine x) {
  x.levels = 0;
  x.members = 1;
  return x;
}

}  // namespace

Nodes nodes_of(const object::Comm& comm) {
  std::vector<std::int32_t> node_of;
  // Across jobs all have to see the same: a node of its own for each.
  const bool alone = comm.spans_jobs();
  for (const std::int32_t peer : comm.group->members)
    node_of.push_back(alone ? static_cast<std::int32_t>(node_of.size())
                            : comm.engine->job->node_of(peer));
  return Nodes(node_of);
}

Cluster::Cluster(Nodes of_ranks, const model::Machine& node, const model::Machine& all,
                 Ledger ledger)
    : nodes(std::move(of_ranks)),
      on_node{.machine = node, .ledger = ledger},
      between{.machine = of_leaders(all), .ledger = ledger} {}

Phases::Phases(Schedule& s, const Across& at, int root, int stages)
    : s_(s),
      at_(at),
      root_(root),
      node_(at.nodes().node_of(at.rank)),
      stage_bits_(phase_bits - log2_ceil(stages)) {}

void Phases::begin_stage() {
  if (!is_beside_) s_.next_round();
  s_.stage(stage_++, stage_bits_);
}

void Phases::end_stage() {
  if (!is_beside_) s_.next_round();
}

void Phases::add_price(const model::Machine& x, const Way& way, const Case& c, bool reach) {
  const Call call = explained[family(c.call)];
  at_.price->add(x.nodes > 1 ? "between nodes" : "on a node", way.name,
                 price_of(x, way, call, c.bytes, reach).seconds());
}

void Phases::mark(const Way& way, const Case& c, int of) {
  NodePhases& marked = *at_.marked;
  double& seconds = marked.seconds[{&way, c.bytes}];
  if (seconds == 0)
    seconds = price_of(at_.cluster.on_node.machine, way, explained[family(c.call)], c.bytes,
                       at_.site->direct())
                  .seconds();
  if (!is_beside_) s_.next_round();
  marked.marks.push_back({s_.steps().size(), seconds / of, is_beside_});
}

void Phases::on_node(const Operation& o, Case c) {
  if (alone()) return;
  c.call = o.call;
  c.boards = at_.site != nullptr;
  c.reach = c.boards && at_.site->direct();
  if (at_.marked != nullptr && !at_.marked->asked.empty()) {
    c.asked = find_way(c.call, at_.marked->asked);
    if (c.asked != nullptr && is_legal(*c.asked, c)) return mark(*c.asked, c);
    c.asked = nullptr;
  }
  const Way* way = &choose(at_.cluster.on_node, c);
  if (at_.marked != nullptr) return mark(*way, c);
  if (at_.price != nullptr)
    return add_price(at_.cluster.on_node.machine, *way, c, at_.site->direct());
  if (way->place == Place::board && at_.site == nullptr) {  // there was room for one before
    Choices without{.machine = at_.cluster.on_node.machine, .ledger = at_.cluster.on_node.ledger};
    way = &choose(without, c);
  }
  begin_stage();
  if (way->place == Place::board) {
    way->at_board(s_, o, *at_.site);
  } else {
    std::vector<std::int32_t> ranks;
    for (const std::int32_t rank : at_.nodes().members(node_)) ranks.push_back(rank);
    s_.among(ranks);
    way->by_messages(s_, o, {place(), here()});
    s_.among({});
  }
  end_stage();
}

template <class RankOf>
void Phases::by_messages(const Operation& o, Case c, const model::Machine& x, RankOf&& rank_of) {
  c.call = o.call;
  c.boards = false;
  const Way& way = choose(at_.cluster.between, c);
  if (at_.price != nullptr) return add_price(x, way, c, false);
  std::vector<std::int32_t> ranks;
  for (int i = 0; i < at_.nodes().count(); ++i) ranks.push_back(rank_of(i));
  s_.next_round();
  s_.among(ranks);
  way.by_messages(s_, o, {node_, at_.nodes().count()});
  s_.among({});
  s_.next_round();
}

void Phases::between(const Operation& o, Case c) {
  if (leads())
    by_messages(o, c, at_.cluster.between.machine, [this](int node) { return leader(node); });
}

void Phases::between_parts(int parts, const Operation& o, Case c) {
  if (place() >= parts) return;
  model::Machine x = at_.cluster.between.machine;
  x.network = x.network.shared_by(parts);
  by_messages(o, c, x, [this](int node) {
    return at_.nodes().members(node)[static_cast<std::size_t>(place())];
  });
}

void Phases::tell(const std::byte* mine, std::byte* all, std::int64_t n) {
  if (alone()) return;
  const Way& exchange = *find_way(Call::gather, "exchange");
  const Case c{.call = Call::gather, .bytes = n};
  if (at_.price != nullptr) return add_price(at_.cluster.on_node.machine, exchange, c, true);
  if (at_.marked != nullptr) return mark(exchange, c);
  begin_stage();
  if (at_.site != nullptr) {
    gather_known(s_, as_bytes(mine, n), all, leader_place(), *at_.site);
  } else if (!leads()) {
    s_.send(as_bytes(mine, n), leader(node_));
  } else {
    for (int i = 0; i < here(); ++i) {
      const Buffer room = as_bytes(all + i * n, n);
      if (i == place())
        s_.copy(as_bytes(mine, n), room);
      else
        s_.recv(room, nodes().members(node_)[static_cast<std::size_t>(i)]);
    }
  }
  end_stage();
}

void Phases::meet() {
  if (alone() || at_.marked != nullptr || at_.site == nullptr || at_.site->direct() ||
      at_.price != nullptr)
    return;
  begin_stage();
  s_.signal(1);
  for (int i = 0; i < here(); ++i)
    if (i != place()) s_.wake(i);
  for (int i = 0; i < here(); ++i)
    if (i != place()) s_.await_phase(i, 1);
  end_stage();
}

void Phases::arrive() {
  if (alone()) return;
  if (at_.price != nullptr)
    return add_price(at_.cluster.on_node.machine, *find_way(Call::barrier, "tree"),
                     {.call = Call::barrier}, true);
  if (at_.marked != nullptr)
    return mark(*find_way(Call::barrier, "tree"), {.call = Call::barrier}, 2);
  begin_stage();
  if (at_.site != nullptr) {
    barrier_arrive(s_, *at_.site);
  } else if (!leads()) {
    s_.notify(leader(node_));
  } else {
    for (const int rank : at_.nodes().members(node_))
      if (rank != at_.rank) s_.await(rank);
  }
  s_.next_round();
}

void Phases::leave() {
  if (alone() || at_.price != nullptr) return;  // arrive() has priced both
  if (at_.marked != nullptr)
    return mark(*find_way(Call::barrier, "tree"), {.call = Call::barrier}, 2);
  begin_stage();
  if (at_.site != nullptr) {
    barrier_leave(s_, *at_.site);
  } else if (!leads()) {
    s_.await(leader(node_));
  } else {
    for (const int rank : at_.nodes().members(node_))
      if (rank != at_.rank) s_.notify(rank);
  }
  s_.next_round();
}

model::Prediction price_across(Choices& choices, const Way& way, const Case& c) {
  const model::Machine& x = choices.machine;
  const int p = x.all_ranks();
  if (choices.priced == nullptr) {
    model::Machine node = x;
    node.nodes = 1;
    choices.priced =
        std::make_shared<Cluster>(Nodes::rows(x.nodes, x.ranks()), node, x, choices.ledger);
  }
  const Call call = explained[family(c.call)];
  // A leader does most: the first rank, or the last.
  const int rank = call == Call::scan ? p - 1 : 0;
  Ground ground{Levels(x.ranks())};
  const Site site{ground, {}, {rank % x.ranks(), x.ranks()}};
  model::Prediction out;
  out.add("the call", "built in", x.call);
  Schedule s;
  s.imagine();
  const ImaginedCall imagined(call, c.bytes, p, c.uniform);
  way.at_nodes(s, imagined.operation, {*choices.priced, rank, &site, &out});
  constexpr double least_lines = 8;
  // What a leader packs and receives lies beside its own buffers.
  const double held = footprint(call, p, c.bytes) + model::lines_of(s.imagined_bytes());
  const model::Machine own = x.holding_lines(held, model::Others::in_memory);
  double beside = 0;
  for (const Step& step : s.steps()) {
    const double lines = std::max(least_lines, model::lines_of(step.count * step.type->size));
    beside += (step.what == Step::What::reduce ? own.reduce : own.copy) * lines;
  }
  out.add("copies of a leader", "copy per line", beside);
  return out;
}

}  // namespace weft::coll
