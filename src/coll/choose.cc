// SPDX-License-Identifier: Apache-2.0
#include "coll/choose.h"

#include <algorithm>

#include "coll/node/board.h"
#include "coll/walk.h"

namespace weft::coll {
namespace {

using model::Machine;

/// The call whose costs stand for those of all with the same parameter.
Call priced_as(Call call) {
  return explained[family(call)];
}

double seconds_of(const Way& way, const Machine& x, const Case& c) {
  return Walk(x).price(way, priced_as(c.call), c.bytes, c.reach).seconds();
}

/// The cheapest legal way at a board; null: none. Of reductions in a crowd the first: there all
/// work is done in turns, a tree does least of it and wakes each rank once, and the model does not
/// see that. Measured, 4 and 8 processes on a 2-core EPYC, 2026-11-23, tree, tiled_hierarchical,
/// tiled_cyclic, us: reduce of 64 KiB 27, 33, 56 and 68, 175, 136; 1 MiB 560, 590, 1000 and 872,
/// 1560, 1780.
const Way* cheapest_at_board(const Machine& x, const Case& c) {
  const bool crowd_reduces = x.crowded() && (c.call == Call::reduce || c.call == Call::allreduce);
  const Way* best = nullptr;
  double least = 0;
  for (const Way& way : ways_of(c.call)) {
    if (way.place != Place::board || way.only_if_asked || !is_legal(way, c)) continue;
    const double cost = seconds_of(way, x, c);
    if (best != nullptr && (crowd_reduces || cost >= least)) continue;
    best = &way;
    least = cost;
  }
  return best;
}

/// What is remembered for a size, or find() of the next power of two.
template <class Find>
const Way& remembered(std::uint8_t (&known)[Choices::sizes], Case c, Find&& find) {
  c.bytes = c.bytes > 0 ? size_class(c.bytes) : 0;
  const int column = column_of(c.bytes);
  if (column >= Choices::sizes) return find(c);
  const Way* const ways = ways_of(c.call).data();
  std::uint8_t& way = known[column];
  if (way == 0) [[unlikely]]
    way = static_cast<std::uint8_t>(1 + (&find(c) - ways));
  return ways[way - 1];
}

// --- through the shared block

/// The most that goes by slots: of several ranks, `window` of them do not stay in a core's first
/// cache, pieces and strips do. Measured, bench collectives, 2 processes, 2-core EPYC, 2026-11-22,
/// 4 KiB in slots and not: allgather 0.29 and 0.25 us (far 0.82 and 0.68), reduce 0.21 and 0.19.
std::int64_t slot_max(const Machine& x, const Case& c) {
  return x.ranks() <= flat_max && !x.crowded() ? std::min<std::int64_t>(c.slot_bytes, 2048)
                                               : c.slot_bytes;
}

/// Where ranks take turns on their CPUs a tree between their buffers copies nothing and wakes each
/// rank once; what that is worth the model does not see. Measured, bench collectives, 4 and 8
/// threads on a 2-core EPYC, 2026-11-22, direct / tree, 16, 64, 256 KiB, near: reduce 1.3, 1.3, 1.0
/// (0.9 with 8), allreduce 0.8, 0.95, 0.8; far: 1.7, 2.4, 2.4 and 1.4, 1.6, 1.7.
bool is_for_trees(const Machine& x, const Case& c) {
  const std::int64_t above = c.call == Call::reduce ? 8 << 10 : 16 << 10;
  return x.crowded() && c.reach && (c.call == Call::reduce || c.call == Call::allreduce) &&
         c.bytes > above && c.bytes <= 256 << 10;
}

/// The cheapest way of a blocking call between ranks of several levels. What leaves a slot for
/// another way, or the block for a board, must be a third faster: that much the model may be wrong.
const Way& fastest_shared(const Machine& x, Case c) {
  constexpr double much = 0.67;
  c.boards = x.ranks() <= Boards::ranks_max && !c.reproducible;
  if (c.boards && is_for_trees(x, c)) return *cheapest_at_board(x, c);
  const Way* best = way_at(c.call, Place::block);
  const Way* direct = way_at(c.call, Place::direct);
  if (direct != nullptr && c.reach && seconds_of(*direct, x, c) < seconds_of(*best, x, c))
    best = direct;
  const bool fits = held_by_slot(c.call, c.bytes, x.ranks()) <= c.slot_bytes;
  const Way& slots = *way_at(c.call, Place::slots);
  if (fits && seconds_of(*best, x, c) >= much * seconds_of(slots, x, c)) best = &slots;
  const bool may_leave =
      c.call == Call::reduce || c.call == Call::allreduce || (c.call == Call::bcast && !fits);
  if (!may_leave || !c.boards) return *best;
  const Way& along = *cheapest_at_board(x, c);
  return seconds_of(along, x, c) < much * seconds_of(*best, x, c) ? along : *best;
}

/// Between ranks that are equally near, as measured.
const Way& measured_way(const Machine& x, const Case& c) {
  if (held_by_slot(c.call, c.bytes, x.ranks()) <= slot_max(x, c))
    return *way_at(c.call, Place::slots);
  const Way* direct = way_at(c.call, Place::direct);
  return direct != nullptr && c.reach && worth_direct(c.call, c.bytes, x.ranks(), x.is_far())
             ? *direct
             : *way_at(c.call, Place::block);
}

const Way& shared_way(Choices& choices, const Case& c) {
  const Machine& x = choices.machine;
  const std::int64_t held = held_by_slot(c.call, c.bytes, x.ranks());
  if (c.asked != nullptr && held > 0) {
    const Place place = c.asked->place;
    if (place == Place::block || (place == Place::direct && c.reach) ||
        (place == Place::slots && held <= c.slot_bytes))
      return *c.asked;
  }
  if (held <= inline_max) return *way_at(c.call, Place::slots);
  return remembered(choices.shared[c.reach][family(c.call)], c, [&](const Case& c) -> const Way& {
    return x.levels > 1 ? fastest_shared(x, c) : measured_way(x, c);
  });
}

// --- schedules

/// The first that serves this size, or is legal at all.
const Way& by_messages(const Machine& x, const Case& c) {
  const Way* legal = nullptr;
  for (const Way& way : ways_of(c.call)) {
    if (way.place != Place::messages || !is_legal(way, c)) continue;
    if (legal == nullptr) legal = &way;
    if (c.bytes <= way.up_to_bytes && x.ranks() >= way.from_ranks) return way;
  }
  return *legal;
}

/// At a board if it can, else by messages; but a chain of many ranks with little data may take
/// longer than messages.
const Way& scheduled_way(const Machine& x, const Case& c) {
  const Way* const board = cheapest_at_board(x, c);
  const bool asks = c.asked != nullptr && is_legal(*c.asked, c);
  if (asks && c.asked->place == Place::board) return *c.asked;
  const bool prefers_messages = c.asked != nullptr && c.asked->place == Place::messages;
  if (asks && prefers_messages) return *c.asked;
  const Way& messages = by_messages(x, c);
  if (board == nullptr || prefers_messages) return messages;
  const bool many = priced_as(c.call) == Call::scan && x.ranks() > scan_ranks_max;
  return many && seconds_of(messages, x, c) < seconds_of(*board, x, c) ? messages : *board;
}

bool is_for_block(const Case& c) {
  return c.slot_bytes > 0 && (c.asked == nullptr || c.asked->place < Place::board);
}

}  // namespace

bool is_legal(const Way& way, const Case& c) {
  return (c.uniform || !way.uniform_only) && (c.commutative || !way.commutative_only) &&
         (way.in_rank_order || !c.reproducible) &&
         (way.place != Place::board || (c.boards && c.plain));
}

const Way& choose(Choices& choices, const Case& c) {
  if (is_for_block(c)) return shared_way(choices, c);
  const Machine& x = choices.machine;
  if (x.levels == 0) return by_messages(x, c);
  const int kind = c.uniform + 2 * c.commutative + 4 * c.plain;
  return remembered(choices.scheduled[kind][family(c.call)], c,
                    [&](const Case& c) -> const Way& { return scheduled_way(x, c); });
}

bool worth_direct(Call call, std::int64_t bytes, int ranks, bool far) {
  // Measured, bench collectives, threads on a 2-core EPYC whose cores are near or far, 2026-11-22,
  // direct / block, 2 ranks, 16, 64, 256 KiB and 1 MiB of a vector or block.
  //
  // Blocks are written into the buffers of those who want them: one copy, but one more meeting than
  // through strips, and lines that others have read. Near: allgather 1.13, 0.98, 0.81, 0.78,
  // alltoall 1.03, 0.90, 0.78, 0.82, gather 1.00, 0.88, 0.87, 0.93, scatter 1.08, 1.15, 1.06, 0.98,
  // bcast 1.16, 1.06, 1.01, 1.00; far: allgather 1.71, 1.27, 1.06, 0.91, alltoall 1.59, 1.20, 1.00,
  // 0.95, gather 1.47, 1.22, 1.17, 0.84, scatter 1.64, 1.40, 1.35, 0.97, bcast 1.82, 1.39, 1.39,
  // 1.25. So do two ranks with operands: allreduce near 1.30, 0.86, 0.82, 0.75, far 2.12, 1.36,
  // 1.15, 1.00; reduce_scatter (of a block) near 0.87, 0.82, 0.79, 0.86, far 1.00, 0.92, 0.83,
  // 0.81.
  //
  // Other reductions read the operands where they are, which their owners have to fetch back before
  // they write them again: with ordinary stores 1.7 ns a line between near cores, 7.5 between far
  // ones, where a copy that overwrites whole lines of another core takes 0.5 and 1.0. Near: reduce
  // 1.22, 1.06, 1.10, 0.74, 4 ranks allreduce 0.91, 0.91, 0.82, 0.63; far: 2.1 to 2.4.
  switch (call) {
    case Call::bcast:
    case Call::scatter:
    case Call::scatterv:
      return false;
    case Call::allreduce:
      if (ranks == 2) return bytes >= (far ? 1 << 20 : 64 << 10);
      return !far && bytes >= 512 << 10;
    case Call::reduce:
      // 2 ranks: pieces take 1.35 as long near and 0.45 far, which nobody may have told.
      return ranks > 2 && !far && bytes >= 512 << 10;
    case Call::reduce_scatter:
    case Call::reduce_scatter_block:
      return ranks == 2 ? bytes >= 32 << 10 : !far && bytes >= 1 << 20;  // of the whole vector
    case Call::gather:
    case Call::gatherv:
      // Pieces go where their writer has read (2026-11-23, 1 MiB, direct / pieces: near 0.84, far
      // 1.7); which it is nobody may have told.
      if (ranks == 2) return false;
      [[fallthrough]];
    default:
      // Near, strips of 64 KiB take up to 1.1 as long; if the ranks are far, direct 1.2 to 1.3.
      return bytes >= (far ? 512 << 10 : 128 << 10);
  }
}

}  // namespace weft::coll
