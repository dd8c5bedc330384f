// SPDX-License-Identifier: Apache-2.0
#include "coll/candidates.h"

#include <algorithm>

#include "coll/boards/board.h"
#include "coll/choose.h"
#include "coll/nodes/phases.h"
#include "coll/walk.h"

namespace weft::coll {
namespace {

using model::Machine;

/// The case of the blocking call.
Case case_of(const Machine& x, const Setting& s) {
  return {.call = s.call,
          .bytes = s.call == Call::barrier ? 0 : s.bytes,
          .commutative = s.commutative,
          .slot_bytes = x.nodes > 1 ? 0 : slot_bytes_for(s.shared_max),
          .reach = s.threads && x.nodes == 1,
          .boards = s.shared_max > 0 && x.nodes == 1 && x.ranks() <= board_ranks_max,
          .across = x.nodes > 1 && x.ranks() > 1,
          .rows = true,
          .even = true,
          .ranks = x.all_ranks(),
          .most_here = x.ranks(),
          .asked = find_way(s.call, s.asked)};
}

bool is_possible(const Way& way, const Machine& x, const Case& c) {
  switch (way.place) {
    case Place::slots:
      return c.slot_bytes > 0 && held_by_slot(c.call, c.bytes, x.ranks()) <= c.slot_bytes;
    case Place::direct:
      return c.slot_bytes > 0 && c.bytes > 0 && c.reach;
    case Place::block:
      return c.slot_bytes > 0 && c.bytes > 0;
    default:
      return is_legal(way, c);
  }
}

}  // namespace

bool find_call(std::string_view name, Call* out) {
  const Call* at = std::find_if(std::begin(explained), std::end(explained),
                                [&](Call call) { return call_name(call) == name; });
  if (at == std::end(explained)) return false;
  *out = *at;
  return true;
}

std::vector<Candidate> candidates(const Machine& x, const Setting& s) {
  const Case c = case_of(x, s);
  Choices choices{.machine = x};
  std::vector<Candidate> out;
  for (const Way& way : ways_of(s.call))
    if (is_possible(way, x, c) && (!c.across || way.place == Place::nodes || is_walked(way, x)))
      out.push_back({&way, way.place == Place::nodes ? price_across(choices, way, c)
                                                     : price_of(x, way, s.call, c.bytes, c.reach)});
  return out;
}

std::vector<const Way*> tried(const Machine& x, const Setting& s) {
  Choices choices{.machine = x};
  return close_ways(choices, case_of(x, s), 1 + s.explore);
}

const Way& chosen(const Machine& x, const Setting& s) {
  Choices choices{.machine = x};
  return choose(choices, case_of(x, s));
}

}  // namespace weft::coll
