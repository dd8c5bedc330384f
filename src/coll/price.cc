// SPDX-License-Identifier: Apache-2.0
#include "coll/price.h"

#include <algorithm>

#include "coll/shared/block.h"
#include "coll/shared/cost.h"

namespace weft::coll {
namespace {

using model::lines_of;
using model::Machine;
using model::Prediction;

bool is_flat(const Machine& x) {
  return !x.crowded() && x.ranks() <= flat_max;
}

/// With more ranks than CPUs all do their work in turn, and a rank that waits lets the others run.
Prediction with_call(const Machine& x, Prediction cost) {
  cost.add("the call", "built in", x.call);
  if (!x.crowded()) return cost;
  const double share = static_cast<double>(x.ranks()) / x.cpus;
  cost.add("others' work on the same CPUs", "(p/CPUs - 1) of what all do",
           (share - 1) * cost.seconds_of_all());
  return cost.add("ranks take turns", "p/CPUs switches for each wait",
                  cost.turns() * share * x.turn);
}

Prediction price_alone(const Way& way, Call call, const Machine& x, std::int64_t bytes,
                       bool direct) {
  const double lines = footprint(call, x, bytes);
  switch (way.place) {
    case Place::slots:
      return slots_cost(call, x, bytes, is_flat(x));
    case Place::direct:
      return direct_cost(call, x, bytes, is_flat(x));
    case Place::block:
      return block_cost(call, x, bytes, is_flat(x));
    case Place::board:
      return way.board_cost(x.holding_lines(lines, model::Others::in_memory), bytes, direct);
    case Place::messages:
      break;
  }
  Machine between = x.holding_lines(lines, model::Others::in_cache);
  // Of what a message brought and an own buffer.
  between.reduce = x.holding_lines(lines, model::Others::in_memory).reduce;
  return messages_cost(between, way.message_cost(x.ranks(), bytes), way.exchange);
}

}  // namespace

Prediction price(const Way& way, Call call, const Machine& x, std::int64_t bytes, bool direct) {
  return with_call(x, price_alone(way, call, x, bytes, direct));
}

Prediction messages_cost(const Machine& x, const Cost& cost, bool exchange) {
  const model::Level& top = x.top();
  const int at_once = exchange && x.levels > 1 ? x.ranks_in(x.levels - 2) : 1;
  const double line = x.copy + std::max(top.b, top.B * at_once);
  Prediction out;
  out.add("messages", "alpha = software + 2 lines",
          static_cast<double>(cost.messages) * (x.message + 2 * top.line()));
  out.add("bytes", exchange ? "beta = 2 (copy + max(b, Bq)) per line" : "beta = copy + b per line",
          (exchange ? 2 : 1) * lines_of(cost.bytes) * line);
  out.add("folds", "gamma = reduce per line", lines_of(cost.reduced) * x.reduce);
  out.wait(static_cast<double>(cost.messages));
  return out;
}

}  // namespace weft::coll
