// SPDX-License-Identifier: Apache-2.0
#include "coll/cluster/replay.h"

#include <algorithm>

#include "base/assert.h"
#include "coll/limits.h"

namespace weft::coll {
namespace {

using model::lines_of;
using What = Step::What;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Replay::Replay(const model::Machine& node, const model::Network& network, double hop,
               const Fabric& fabric, int nodes, int each)
    : node_(node), network_(network), hop_(hop), fabric_(fabric), each_(each) {
  nodes_.resize(index(nodes));
  links_.resize(index(fabric.links()));
}

double Replay::cost_of(const Step& step) const {
  constexpr double least_lines = 8;  // what a step costs itself, as the walk has it
  const double lines = std::max(least_lines, lines_of(step.count * step.type->size));
  return (step.what == What::reduce ? node_.reduce : node_.copy) * lines;
}

bool Replay::add(const Schedule& schedule, const std::vector<NodePhases::Mark>& marks) {
  const auto begin = static_cast<std::int32_t>(ops_.size());
  bool has_messages = false;
  auto mark = marks.begin();
  const auto take_marks = [&](std::size_t step) {
    for (; mark != marks.end() && mark->step == step; ++mark) {
      const bool beside = mark->beside && ops_.size() > index(begin);
      // In the round of the step before, which may end it.
      ops_.insert(ops_.end() - (beside ? 1 : 0),
                  {.at = mark->seconds, .kind = Kind::phase, .ends_round = !beside});
    }
  };
  const std::vector<Step>& steps = schedule.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    take_marks(i);
    const Step& step = steps[i];
    Op op{.ends_round = step.ends_round};
    if (step.what == What::send || step.what == What::recv) {
      op.kind = step.what == What::send ? Kind::send : Kind::receive;
      op.bytes = step.count * step.type->size;
      op.peer = step.peer;
      has_messages = true;
    } else {
      op.at = cost_of(step);
    }
    ops_.push_back(op);
  }
  take_marks(steps.size());
  const auto rank = static_cast<std::int64_t>(ranks_.size());
  // Of a node where nobody has messages the first rank stands for all.
  Node& node = nodes_[index(node_of(rank))];
  const bool is_last = rank % each_ == each_ - 1;
  if (!has_messages && !(is_last && node.replayed == 0))
    ops_.resize(index(begin));
  else
    ++node.replayed;
  if (ops_.size() > index(begin)) ops_.back().ends_round = true;
  Rank& added = ranks_.emplace_back();
  added.begin = added.next = begin;
  added.end = static_cast<std::int32_t>(ops_.size());
  return std::ssize(ops_) <= replayed_steps_max;
}

void Replay::match_one(std::int32_t rank,
                       const std::vector<std::pair<std::int32_t, std::int32_t>>& sent) {
  std::vector<std::pair<std::int32_t, std::int32_t>> wanted;  // from whom, which step
  for (std::int32_t i = ranks_[index(rank)].begin; i < ranks_[index(rank)].end; ++i)
    if (ops_[index(i)].kind == Kind::receive) wanted.emplace_back(ops_[index(i)].peer, i);
  std::sort(wanted.begin(), wanted.end());
  WEFT_CHECK(wanted.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    WEFT_CHECK(wanted[i].first == sent[i].first);
    ops_[index(sent[i].second)].other = wanted[i].second;
    ops_[index(wanted[i].second)].other = rank;
  }
}

/// Between two ranks messages match in order (schedule.h).
void Replay::match() {
  const std::size_t p = ranks_.size();
  std::vector<std::int32_t> begin(p + 1), at(p);
  for (const Op& op : ops_)
    if (op.kind == Kind::send) ++begin[index(op.peer) + 1];
  for (std::size_t r = 0; r < p; ++r) begin[r + 1] += begin[r];
  std::copy(begin.begin(), begin.end() - 1, at.begin());
  std::vector<std::pair<std::int32_t, std::int32_t>> to(index(begin[p]));  // by receiver
  for (std::size_t r = 0; r < p; ++r)
    for (std::int32_t i = ranks_[r].begin; i < ranks_[r].end; ++i)
      if (const Op& op = ops_[index(i)]; op.kind == Kind::send)
        to[index(at[index(op.peer)]++)] = {static_cast<std::int32_t>(r), i};
  std::vector<std::pair<std::int32_t, std::int32_t>> sent;
  for (std::size_t r = 0; r < p; ++r) {
    sent.assign(to.begin() + begin[r], to.begin() + begin[r + 1]);
    match_one(static_cast<std::int32_t>(r), sent);
  }
}

double Replay::between_here(std::int32_t a, std::int32_t b, std::int64_t bytes) const {
  int l = 0;
  while (l < node_.levels - 1 && a % each_ / node_.ranks_in(l) != b % each_ / node_.ranks_in(l))
    ++l;
  const model::Level& level = node_.level[l];
  return 2 * level.line() + std::max(level.b, level.B) * lines_of(bytes);
}

void Replay::send(std::int32_t rank, std::int32_t number) {
  Rank& me = ranks_[index(rank)];
  const Op& op = ops_[index(number)];
  const double lines = lines_of(op.bytes);
  me.now += node_.message / 2;
  const double begin = me.now;
  me.now += node_.copy * lines;
  if (node_of(rank) == node_of(op.peer))
    return deliver(op.other, begin + between_here(rank, op.peer, op.bytes));
  Node& node = nodes_[index(node_of(rank))];
  ++node.messages;
  node.bytes += op.bytes;
  double head = std::max({begin, node.out, me.sends});
  node.out = head + network_.keeps(lines);
  me.sends = head + network_.takes(lines);
  head += network_.gap;
  fabric_.route(node_of(rank), node_of(op.peer), route_);
  for (const std::int64_t link : route_) {
    double& free = links_[index(link)];
    head = std::max(head, free);
    free = head + network_.line * lines / network_.pairs;
    head += hop_;
  }
  events_.push({head + network_.latency, ~std::int64_t{number}});
}

void Replay::arrive(std::int32_t number, double at) {
  const Op& op = ops_[index(number)];
  const double lines = lines_of(op.bytes);
  Node& node = nodes_[index(node_of(op.peer))];
  Rank& receiver = ranks_[index(op.peer)];
  const double pairs = network_.pairs;
  const double begin =
      std::max({at, node.in + network_.gap / pairs, receiver.receives + network_.gap});
  node.in = begin + network_.line * lines / pairs;
  receiver.receives = begin + network_.line * lines;
  deliver(op.other, receiver.receives);
}

void Replay::deliver(std::int32_t receive, double at) {
  Op& op = ops_[index(receive)];
  op.at = at;
  op.is_here = true;
  Rank& rank = ranks_[index(op.other)];
  if (!rank.in_round || receive >= rank.round_end) return;  // not wanted yet
  if (--rank.missing == 0 && rank.waits) {
    rank.waits = false;
    events_.push({std::max(at, rank.now), op.other});
  }
}

void Replay::join_phase(std::int32_t rank, const Op& op) {
  Node& node = nodes_[index(node_of(rank))];
  Rank& me = ranks_[index(rank)];
  node.phase = std::max(node.phase, me.now);
  if (++node.come < node.replayed) return;
  const double over = node.phase + op.at;
  node.come = 0;
  node.phase = 0;
  const std::int32_t first = rank / each_ * each_;
  for (std::int32_t r = first; r < first + each_; ++r)
    if (Rank& one = ranks_[index(r)]; one.end > one.begin) {
      one.now = over;
      events_.push({over, r});
    }
}

void Replay::begin_round(std::int32_t rank) {
  Rank& me = ranks_[index(rank)];
  me.round_end = me.local = me.next;
  me.missing = 0;
  do
    me.missing +=
        ops_[index(me.round_end)].kind == Kind::receive && !ops_[index(me.round_end)].is_here;
  while (!ops_[index(me.round_end++)].ends_round);
  me.in_round = true;
  for (std::int32_t i = me.next; i < me.round_end; ++i)
    if (ops_[index(i)].kind == Kind::send) send(rank, i);
}

bool Replay::go_on_in_round(std::int32_t rank) {
  Rank& me = ranks_[index(rank)];
  while (me.local < me.round_end) {
    const Op& op = ops_[index(me.local++)];
    if (op.kind == Kind::work) me.now += op.at;
    if (op.kind != Kind::phase) continue;
    join_phase(rank, op);
    return false;
  }
  me.waits = me.missing > 0;
  return !me.waits;
}

void Replay::end_round(std::int32_t rank) {
  Rank& me = ranks_[index(rank)];
  for (; me.next < me.round_end; ++me.next) {
    const Op& op = ops_[index(me.next)];
    if (op.kind != Kind::receive) continue;
    me.now = std::max(me.now, op.at) + node_.message / 2 + node_.copy * lines_of(op.bytes);
  }
  me.in_round = false;
}

void Replay::go_on(std::int32_t rank) {
  Rank& me = ranks_[index(rank)];
  for (;;) {
    if (me.in_round) {
      if (!go_on_in_round(rank)) return;
      end_round(rank);
    }
    if (me.next == me.end) return;
    if (!events_.empty() && events_.top().at < me.now)  // others are first
      return events_.push({me.now, rank});
    begin_round(rank);
  }
}

Replay::Result Replay::run() {
  match();
  Result out;
  out.steps = std::ssize(ops_);
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (ranks_[r].end > ranks_[r].begin) events_.push({0, static_cast<std::int64_t>(r)});
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.what < 0)
      arrive(static_cast<std::int32_t>(~event.what), event.at);
    else
      go_on(static_cast<std::int32_t>(event.what));
  }
  std::vector<double> ends;
  for (const Rank& rank : ranks_) {
    WEFT_CHECK(rank.next == rank.end);
    if (rank.end > rank.begin) ends.push_back(rank.now);
  }
  std::sort(ends.begin(), ends.end());
  out.replayed = std::ssize(ends);
  if (!ends.empty()) out.median = ends[ends.size() / 2];
  if (!ends.empty()) out.longest = ends.back();
  for (const Node& node : nodes_) {
    out.messages = std::max(out.messages, node.messages);
    out.bytes = std::max(out.bytes, node.bytes);
    out.all_messages += node.messages;
    out.all_bytes += node.bytes;
  }
  return out;
}

}  // namespace weft::coll
