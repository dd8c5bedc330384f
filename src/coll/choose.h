// SPDX-License-Identifier: Apache-2.0
//
// Which way a call goes. One function says it, for runs, for `weft explain` and for tests. All that
// it depends on is the same on all ranks, so all choose alike.
//
// A way that is asked for is taken if it is legal. Else a blocking call goes through the shared
// block (block/), another one to a board (boards/), and what can do neither by messages; on several
// nodes in phases (nodes/), or by messages. Between ranks of several levels the cheapest way is
// taken (walk.h), computed when a communicator first has a call of that collective and power of two
// of bytes, and remembered.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/block/block.h"
#include "coll/ledger.h"
#include "coll/ways.h"
#include "model/machine.h"

namespace weft::coll {

/// What a choice depends on beside the machine.
struct Case {
  Call call = Call::barrier;
  std::int64_t bytes = 0;  // as the costs count them (messages/algorithms.h)
  bool uniform = true;     // all blocks have one size
  bool commutative = true;
  bool plain = true;            // elements without gaps
  bool reproducible = false;    // reductions in the order of ranks only
  std::int64_t slot_bytes = 0;  // of the shared block; 0: the call cannot go through it
  bool reach = false;           // ranks reach each other's buffers
  bool boards = true;           // there are boards
  bool across = false;          // several nodes, not all of one rank
  bool rows = false;            // the ranks of each node follow each other
  bool even = false;            // all nodes have as many ranks
  std::int64_t ranks = 0;       // of all nodes, where these are several
  std::int64_t most_here = 0;   // of a node
  const Way* asked = nullptr;
};

struct Cluster;  // nodes/phases.h

/// The machine of a communicator, and what has been chosen on it for each power of two of bytes: 0,
/// or 1 and the way's place in the table. All else that a choice depends on stays the same.
struct Choices {
  static constexpr int sizes = 41;
  model::Machine machine;
  Ledger ledger = {};                               // empty: ranks find out alone
  std::uint64_t machine_name = 0;                   // 0: not asked for yet
  std::uint8_t shared[2][families][sizes] = {};     // [reach]
  std::uint8_t scheduled[8][families][sizes] = {};  // [uniform, commutative, plain]
  std::shared_ptr<Cluster> priced = {};             // to price ways across nodes with
};

/// The way of a call. For less than two ranks: a schedule that does nothing between them.
const Way& choose(Choices& choices, const Case& c);

/// The way that choose() takes, and the cheapest others that cost at most `most` times as much; at
/// most tried_max. Alone: reductions at boards, nonblocking calls, ways that are asked for, and
/// calls that are so short that looks at others would cost more than they bring.
/// `price`: of the first, in seconds, if there are others.
std::vector<const Way*> close_ways(Choices& choices, Case c, double most, double* price = nullptr);

/// Where a size is in a table of powers of two; at least `sizes`: nowhere.
constexpr int column_of(std::int64_t bytes) {
  return bytes > 0 ? std::bit_width(static_cast<std::uint64_t>(bytes - 1)) : 0;
}

/// Are the results the same bits whichever way it goes, whatever the data?
constexpr bool only_moves_data(Call call) {
  switch (explained[family(call)]) {
    case Call::bcast:
    case Call::gather:
    case Call::scatter:
    case Call::allgather:
    case Call::alltoall:
      return true;
    default:
      return false;
  }
}

/// A reduction that does so folds each element of all vectors in rank order, whoever does it: such
/// ways give the same bits.
constexpr bool folds_in_rank_order(const Way& way) {
  return way.place == Place::direct || way.place == Place::block;
}

/// Messages between all ranks of several nodes: are they not too many to be priced?
bool is_walked(const Way& way, const model::Machine& x);
/// Can a schedule of the call go this way?
bool is_legal(const Way& way, const Case& c);

/// What a rank's slot would hold of a call with blocks (or a vector) of `bytes`.
inline std::int64_t held_by_slot(Call call, std::int64_t bytes, int ranks) {
  const bool scan = call == Call::scan || call == Call::exscan;
  if (scan && ranks > scan_ranks_max && bytes > 0) return INT64_MAX;
  return call == Call::scatter || call == Call::alltoall ? bytes * ranks : bytes;
}

/// The size that stands for `bytes`: the next power of two.
inline std::int64_t size_class(std::int64_t bytes) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
}

}  // namespace weft::coll
