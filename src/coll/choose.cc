// SPDX-License-Identifier: Apache-2.0
#include "coll/choose.h"

#include <algorithm>
#include <bit>

#include "base/keyed_hash.h"
#include "coll/boards/board.h"
#include "coll/nodes/phases.h"
#include "coll/walk.h"

namespace weft::coll {
namespace {

using model::Machine;

bool is_considered(const Way& way, const Machine& x) {
  return !way.only_if_asked && (x.nodes > 1 || !way.for_nodes);
}

/// What the ways of a call cost, walked when first asked for.
class Prices {
 public:
  Prices(Choices& choices, const Case& c) : choices_(choices), case_(c) {}

  double of(const Way& way) {
    double& known = seconds_[&way - ways_of(case_.call).data()];
    if (known == 0 && way.place == Place::nodes)
      known = price_across(choices_, way, case_).seconds();
    else if (known == 0)
      known = walk(way).seconds();
    return known;
  }
  /// Of the ways that may be taken; null: none may.
  template <class May>
  const Way* cheapest(May&& may) {
    const Way* best = nullptr;
    for (const Way& way : ways_of(case_.call))
      if (is_considered(way, choices_.machine) && may(way) &&
          (best == nullptr || of(way) < of(*best)))
        best = &way;
    return best;
  }

 private:
  model::Prediction walk(const Way& way) {
    return price_of(choices_.machine, way, explained[family(case_.call)], case_.bytes, case_.reach);
  }

  Choices& choices_;
  const Case case_;
  double seconds_[32] = {};
};

enum class Question : std::uint8_t { shared, scheduled, close };

/// What the answer depends on.
std::uint64_t name_of(Choices& choices, Question question, const Case& c, double most = 0) {
  if (choices.machine_name == 0) choices.machine_name = model::name_of(choices.machine);
  const std::size_t asked = c.asked == nullptr ? 0 : 1U + (c.asked - ways_of(c.call).data());
  const bool flags[] = {c.uniform, c.commutative, c.plain, c.reproducible, c.reach,
                        c.boards,  c.across,      c.rows,  c.even};
  std::uint64_t bits = 0;
  for (const bool flag : flags) bits = bits << 1 | flag;
  SipState state{HashKey{}};
  for (const std::uint64_t word :
       {choices.machine_name, static_cast<std::uint64_t>(question),
        static_cast<std::uint64_t>(c.call), static_cast<std::uint64_t>(c.bytes), bits,
        static_cast<std::uint64_t>(c.slot_bytes), static_cast<std::uint64_t>(c.ranks),
        static_cast<std::uint64_t>(c.most_here), std::uint64_t{asked},
        std::bit_cast<std::uint64_t>(most)})
    state.add(word);
  return state.end() | 1;
}

/// What is remembered for a size, or find() of the next power of two.
template <class Find>
const Way& remembered(Choices& choices, Question question, std::uint8_t (&known)[Choices::sizes],
                      Case c, Find&& find) {
  c.bytes = c.bytes > 0 ? size_class(c.bytes) : 0;
  const int column = column_of(c.bytes);
  if (column >= Choices::sizes) return find(c);
  const Way* const ways = ways_of(c.call).data();
  std::uint8_t& way = known[column];
  if (way == 0) [[unlikely]]
    way = static_cast<std::uint8_t>(choices.ledger.of(name_of(choices, question, c), [&] {
      return static_cast<std::uint64_t>(1 + (&find(c) - ways));
    }));
  return ways[way - 1];
}

// --- through the shared block

/// Are there slots for it, and does a rank that uses them in turn keep them in its first cache?
bool fits_slots(const Machine& x, const Case& c) {
  const std::int64_t held = held_by_slot(c.call, c.bytes, x.ranks());
  const bool flat = x.ranks() <= flat_max && !x.crowded();
  return held <= c.slot_bytes && (!flat || places * held <= first_cache);
}

/// The cheapest way of a blocking call, unless a slot, or the block, does not cost much more.
const Way& cheapest_shared(Choices& choices, Case c) {
  const Machine& x = choices.machine;
  const bool fits = fits_slots(x, c);
  // Ranks do not know what the root of a short broadcast sends.
  const bool may_leave = c.call == Call::reduce || c.call == Call::allreduce ||
                         c.call == Call::scan || c.call == Call::exscan ||
                         (c.call == Call::bcast && !fits);
  // On one level only the root of many has so much to read that a tree pays. Measured, 16 ranks on
  // 16 Xeon cores, 2026-11-26, 16 and 256 KiB: reduce by a tree 8.4 and 128 us, by strips 13.3 and
  // 195; allreduce of 16 KiB 22 and 16.
  const bool one_level = c.call == Call::reduce && !fits && x.ranks() > flat_max && !x.crowded();
  c.boards =
      (x.levels > 1 ? may_leave : one_level) && x.ranks() <= board_ranks_max && !c.reproducible;
  Prices prices(choices, c);
  const Way* const board = prices.cheapest(
      [&](const Way& way) { return way.place == Place::board && is_legal(way, c); });
  const Way* best = prices.cheapest([&](const Way& way) {
    return way.place == Place::block || (way.place == Place::direct && c.reach);
  });
  const Way& slots = *way_at(c.call, Place::slots);
  if (fits && prices.of(*best) >= less_than_slots * prices.of(slots)) best = &slots;
  const double less = best == &slots ? less_than_slots : less_than_block;
  return board != nullptr && prices.of(*board) < less * prices.of(*best) ? *board : *best;
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
  return remembered(choices, Question::shared, choices.shared[c.reach][family(c.call)], c,
                    [&](const Case& c) -> const Way& { return cheapest_shared(choices, c); });
}

// --- schedules

bool may_go_by_messages(const Way& way, const Case& c) {
  // What keeps the order of ranks sends most messages.
  const bool in_order = c.reproducible || !c.commutative;
  return way.place == Place::messages && is_legal(way, c) && (in_order || !way.in_rank_order);
}

const Way& by_messages(Choices& choices, const Case& c) {
  return *Prices(choices, c).cheapest([&](const Way& way) { return may_go_by_messages(way, c); });
}

/// In phases, or by messages if these are few and cheaper.
const Way& way_across(Choices& choices, const Case& c) {
  Prices prices(choices, c);
  const Way* const phases = prices.cheapest(
      [&](const Way& way) { return way.place == Place::nodes && is_legal(way, c); });
  if (phases == nullptr) return by_messages(choices, c);
  const Way* const messages = prices.cheapest([&](const Way& way) {
    return may_go_by_messages(way, c) && is_walked(way, choices.machine);
  });
  return messages != nullptr && prices.of(*messages) < prices.of(*phases) ? *messages : *phases;
}

/// At a board if it can, else by messages; but a chain of many ranks with little data may take
/// longer than messages.
const Way& scheduled_way(Choices& choices, const Case& c) {
  const Machine& x = choices.machine;
  const bool asks = c.asked != nullptr && is_legal(*c.asked, c);
  if (asks && c.asked->place >= Place::board) return *c.asked;
  if (c.asked != nullptr && c.asked->place == Place::messages) return by_messages(choices, c);
  if (x.nodes > 1) return way_across(choices, c);
  const bool many = (c.call == Call::scan || c.call == Call::exscan) && x.ranks() > scan_ranks_max;
  const Way* const board = Prices(choices, c).cheapest([&](const Way& way) {
    return (way.place == Place::board || (many && way.place == Place::messages)) &&
           is_legal(way, c);
  });
  return board != nullptr ? *board : by_messages(choices, c);
}

bool may_go_in_phases(const Way& way, const Case& c) {
  const std::int64_t blocks = c.most_here * c.ranks;
  return c.across && (c.rows || !way.rows_only) &&
         (!way.block_by_block ||
          (blocks <= leader_blocks_max && 3 * c.bytes * blocks <= held_max)) &&
         (!way.in_columns || (c.even && 2 * c.bytes * c.ranks <= held_max));
}

bool is_for_block(const Case& c) {
  return c.slot_bytes > 0 && (c.asked == nullptr || c.asked->place < Place::board);
}

}  // namespace

bool is_legal(const Way& way, const Case& c) {
  return (c.uniform || !way.uniform_only) && (c.commutative || !way.commutative_only) &&
         (way.in_rank_order || !c.reproducible) &&
         (way.place != Place::board || (c.boards && c.plain)) &&
         (way.place != Place::nodes || may_go_in_phases(way, c));
}

bool is_walked(const Way& way, const Machine& x) {
  if (way.alike) return x.all_ranks() <= walked_alike_across;
  return x.all_ranks() <= walked_across || x.ranks() * fewest_nodes_walked <= walked_across;
}

namespace {

/// A way in each of four bytes (its place in the table and 1; 0: none), and above, as a float, the
/// price of the first, of which all ranks need the same bits.
std::uint64_t find_close_ways(Choices& choices, const Case& c, double most, const Way& first) {
  const Machine& x = choices.machine;
  // A walk of messages between many takes milliseconds.
  const bool messages = x.ranks() <= walked_one_by_one;
  const bool only_moves = only_moves_data(c.call);
  Prices prices(choices, c);
  const double least = prices.of(first);
  std::vector<const Way*> close{&first};
  for (const Way& way : ways_of(c.call)) {
    const bool has_place = (way.place == Place::direct && c.reach) || way.place == Place::block ||
                           (way.place == Place::board && only_moves) ||
                           (way.place == Place::messages && only_moves && messages);
    if (least >= least_tried && has_place && is_considered(way, x) && is_legal(way, c) &&
        &way != &first && prices.of(way) <= most * least)
      close.push_back(&way);
  }
  std::stable_sort(close.begin() + 1, close.end(),
                   [&](const Way* a, const Way* b) { return prices.of(*a) < prices.of(*b); });
  close.resize(std::min<std::size_t>(close.size(), tried_max));
  std::uint64_t out = std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(least))} << 32;
  for (std::size_t i = 0; i < close.size(); ++i)
    out |= static_cast<std::uint64_t>(1 + (close[i] - ways_of(c.call).data())) << (8 * i);
  return out;
}

}  // namespace

std::vector<const Way*> close_ways(Choices& choices, Case c, double most, double* price) {
  const Way& first = choose(choices, c);
  const bool may_try = most > 1 && is_for_block(c) && c.asked == nullptr &&
                       column_of(c.bytes) < Choices::sizes &&
                       (only_moves_data(c.call) || folds_in_rank_order(first));
  if (!may_try || first.place == Place::slots) return {&first};
  c.bytes = size_class(c.bytes);
  c.boards = choices.machine.ranks() <= board_ranks_max;
  static_assert(tried_max <= 4);
  const std::uint64_t found = choices.ledger.of(name_of(choices, Question::close, c, most), [&] {
    return find_close_ways(choices, c, most, first);
  });
  std::vector<const Way*> close;
  for (std::uint64_t ways = found & 0xffffffff; ways != 0; ways >>= 8)
    close.push_back(&ways_of(c.call)[(ways & 0xff) - 1]);
  if (price != nullptr) *price = std::bit_cast<float>(static_cast<std::uint32_t>(found >> 32));
  return close;
}

const Way& choose(Choices& choices, const Case& c) {
  if (is_for_block(c)) return shared_way(choices, c);
  const Machine& x = choices.machine;
  if (x.levels == 0 && x.nodes == 1) return by_messages(choices, c);
  const int kind = c.uniform + 2 * c.commutative + 4 * c.plain;
  return remembered(choices, Question::scheduled, choices.scheduled[kind][family(c.call)], c,
                    [&](const Case& c) -> const Way& { return scheduled_way(choices, c); });
}

}  // namespace weft::coll
