// SPDX-License-Identifier: Apache-2.0
//
// The table of all ways that a collective can go. A row has the way's name, where its data goes,
// when it is legal, what emits its schedule and what it costs. The names are here only; the words
// of the parameters coll.bcast and so on are the same in the same order, which a test compares.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/params.h"
#include "coll/operation.h"
#include "coll/schedule.h"

namespace weft::coll {

struct Site;    // boards/node.h
struct Across;  // nodes/phases.h

/// Where the data of a collective goes.
enum class Place : std::uint8_t {
  slots,     // a small copy in the shared block (block/)
  direct,    // the users' own buffers, by a blocking call of ranks of one process (block/)
  block,     // the shared block, part by part: pieces or strips (block/)
  board,     // a schedule at a board (boards/)
  messages,  // a schedule of messages (messages/)
  nodes,     // on several nodes: phases on each, and between them (nodes/)
};

struct Way {
  const char* name;
  Place place;
  // Of a schedule: what emits this rank's part.
  void (*at_board)(Schedule&, const Operation&, const Site&) = nullptr;
  void (*by_messages)(Schedule&, const Operation&, const Position&) = nullptr;
  void (*at_nodes)(Schedule&, const Operation&, const Across&) = nullptr;
  bool alike = false;  // all ranks do the same, each with others: a walk follows one of them
  bool only_if_asked = false;  // weft never takes it itself
  bool for_nodes = false;      // nor this where all ranks are on one node
  // When it is legal.
  bool uniform_only = false;      // blocks of one size
  bool commutative_only = false;  // operations
  bool in_rank_order = false;     // a reduction for coll.reproducible
  bool rows_only = false;         // the ranks of each node follow each other
  bool block_by_block = false;    // a leader copies each block by itself
  bool in_columns = false;        // all nodes have as many ranks, and each copies its blocks
};

/// The collectives of the table, in the order of their parameters. Those of one parameter have the
/// same ways: gather and gatherv, scan and exscan.
inline constexpr Call explained[] = {
    Call::allgather, Call::allreduce, Call::alltoall,       Call::barrier, Call::bcast,
    Call::gather,    Call::reduce,    Call::reduce_scatter, Call::scan,    Call::scatter};
inline constexpr int families = static_cast<int>(std::size(explained));

/// The place of a call's collective there; -1: it has no ways to choose from.
constexpr int family(Call call) {
  switch (call) {
    case Call::gatherv:
      return family(Call::gather);
    case Call::scatterv:
      return family(Call::scatter);
    case Call::allgatherv:
      return family(Call::allgather);
    case Call::alltoallv:
    case Call::alltoallw:
      return family(Call::alltoall);
    case Call::reduce_scatter_block:
      return family(Call::reduce_scatter);
    case Call::exscan:
      return family(Call::scan);
    default:
      for (int i = 0; i < families; ++i)
        if (explained[i] == call) return i;
      return -1;
  }
}

/// The ways of a call, in the order in which they are considered.
std::span<const Way> ways_of(Call call);
/// The way of that name; null: none.
const Way* find_way(Call call, std::string_view name);
/// The way of a call with that place, of which there is one: slots, direct, block. Null: it has
/// none.
const Way* way_at(Call call, Place place);

/// The parameter that decides about this call.
const ParamDef& way_parameter(Call call);

}  // namespace weft::coll
