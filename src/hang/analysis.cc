// SPDX-License-Identifier: Apache-2.0
//
// From the ranks that can move to those that wait for them, until nothing changes.
#include "hang/analysis.h"

#include <algorithm>

namespace weft::hang {
namespace {

bool may_go_on(const Record& record, const Analysis& a) {
  const int shown = std::min(record.needs_count, Record::needs_max);
  const auto begin = record.needs, end = record.needs + shown;
  const auto possible = [&a](const Need& need) { return may_come(need, a); };
  const bool more = record.needs_count > shown;
  if (record.one_is_enough != 0)
    return std::any_of(begin, end, possible) || (more && possible(record.rest));
  return std::all_of(begin, end, possible) && (!more || possible(record.rest));
}

bool is_recent(const Record& record, std::int64_t now_ns, std::int64_t limit_ns) {
  return now_ns - std::max(record.since_ns, record.moved_ns) < limit_ns;
}

/// A rank that has left is dead from the start; others until something shows that they can move.
bool can_move(const RankView& rank, const std::vector<bool>& stuck) {
  if (rank.state == RankView::State::left) return false;
  if (rank.threads.empty() || rank.more_threads) return true;
  if (rank.is_multiple() && rank.others_can_move) return true;
  return std::find(stuck.begin(), stuck.end(), false) != stuck.end();
}

}  // namespace

bool Analysis::hangs() const {
  return std::any_of(stuck.begin(), stuck.end(), [](const std::vector<bool>& threads) {
    return std::find(threads.begin(), threads.end(), true) != threads.end();
  });
}

bool may_come(const Need& need, const Analysis& a) {
  if (need.what == What::other) return true;
  if (need.peer != nobody) return !a.is_dead(need.peer);
  const auto ranks = static_cast<std::int32_t>(a.dead.size());
  const Ranks among = need.among.count > 0 ? need.among : Ranks{0, 1, ranks};
  for (std::int32_t i = 0; i < among.count; ++i)
    if (!a.is_dead(among.first + i * among.stride)) return true;
  return false;
}

Analysis analyse(const JobView& view, std::int64_t limit_ns) {
  Analysis a;
  a.dead.assign(view.ranks.size(), true);
  for (const RankView& rank : view.ranks) {
    a.stuck.emplace_back();
    for (const Thread& thread : rank.threads)
      a.stuck.back().push_back(!is_recent(thread.record, view.now_ns, limit_ns));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < view.ranks.size(); ++r) {
      const RankView& rank = view.ranks[r];
      for (std::size_t t = 0; t < rank.threads.size(); ++t)
        if (a.stuck[r][t] && may_go_on(rank.threads[t].record, a)) {
          a.stuck[r][t] = false;
          changed = true;
        }
      if (a.dead[r] && can_move(rank, a.stuck[r])) {
        a.dead[r] = false;
        changed = true;
      }
    }
  }
  return a;
}

}  // namespace weft::hang
