// SPDX-License-Identifier: Apache-2.0
#include "coll/candidates.h"

#include <algorithm>

#include "coll/boards/board.h"
#include "coll/choose.h"
#include "coll/walk.h"

namespace weft::coll {
namespace {

using model::Machine;

/// The case of the blocking call.
Case case_of(const Machine& x, const Setting& s) {
  return {.call = s.call,
          .bytes = s.call == Call::barrier ? 0 : s.bytes,
          .commutative = s.commutative,
          .slot_bytes = slot_bytes_for(s.shared_max),
          .reach = s.threads,
          .boards = s.shared_max > 0 && x.ranks() <= board_ranks_max,
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
  Walk walk(x);
  std::vector<Candidate> out;
  for (const Way& way : ways_of(s.call))
    if (is_possible(way, x, c)) out.push_back({&way, walk.price(way, s.call, c.bytes, c.reach)});
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
