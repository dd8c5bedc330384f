// SPDX-License-Identifier: Apache-2.0
//
// Allreduce by dissemination: in step i every rank folds its value with that of the rank 2^i away,
// so that all have the result after log2 p steps. Ranks are counted group by group: only the last
// log2 s steps cross sockets. Partners are i xor 2^k, not i - 2^k as printed (the same steps and
// reads), and the lower one is the left operand, so that all ranks get the same bits.
// Of each group take part q' ranks, the largest power of two that all groups have, and of the
// groups s', the largest power of two; excess ranks give their vector to one who takes part and get
// the result from there (figure 6: of 2 groups of 6 ranks 4 each, two more behind them).
//
// source   Li, Hoefler, Snir, section 2.3, figures 5 and 6, equations (6) and (7)
// reads    p' log2 p' vectors, across sockets p' log2 s'; 2 (p - p') more for excess ranks
// copies   log2 p' + 2; excess ranks 2
// steps    log2 p', with excess ranks 2 more
// legal    operations that commute, types without gaps; MPI_IN_PLACE
#include <bit>

#include "coll/boards/algorithms.h"

namespace weft::coll {
namespace {

/// Who takes part, and who stands for whom.
class Partners {
 public:
  explicit Partners(const Levels& levels) : levels_(levels) {
    const int inner = levels.innermost(), groups = levels.groups(inner);
    unsigned fewest = static_cast<unsigned>(levels.ranks());
    for (int g = 0; g < groups; ++g)
      fewest = std::min(fewest, static_cast<unsigned>(levels.members(inner, g).size()));
    each_ = static_cast<int>(std::bit_floor(fewest));
    groups_ = static_cast<int>(std::bit_floor(static_cast<unsigned>(groups)));
    steps = tree_steps(each_ * groups_, 2);
  }
  /// The number among those who take part; -1: an excess rank.
  int number_of(int rank) const {
    const int g = levels_.group_of(levels_.innermost(), rank), i = place(rank);
    return g < groups_ && i < each_ ? g * each_ + i : -1;
  }
  int rank_of(int number) const { return member(number / each_, number % each_); }
  /// Who stands for an excess rank: in its group, if that takes part.
  int host_of(int rank) const {
    return member(levels_.group_of(levels_.innermost(), rank) % groups_, place(rank) % each_);
  }
  /// The excess ranks that `host` stands for.
  template <class Body>
  void for_guests(int host, Body&& body) const {
    const int inner = levels_.innermost(), mine = levels_.group_of(inner, host);
    for (int g = mine; g < levels_.groups(inner); g += groups_) {
      const auto here = levels_.members(inner, g);
      for (auto i = static_cast<std::size_t>(place(host) + (g == mine ? each_ : 0));
           i < here.size(); i += static_cast<std::size_t>(each_))
        body(here[i]);
    }
  }
  int steps;

 private:
  int member(int g, int i) const {
    return levels_.members(levels_.innermost(), g)[static_cast<std::size_t>(i)];
  }
  int place(int rank) const {
    const auto here =
        levels_.members(levels_.innermost(), levels_.group_of(levels_.innermost(), rank));
    return static_cast<int>(std::find(here.begin(), here.end(), rank) - here.begin());
  }
  const Levels& levels_;
  int each_, groups_;
};

}  // namespace

void allreduce_dissemination(Schedule& s, const Operands& x, const Site& node) {
  const Partners partners(node.levels());
  const int steps = partners.steps, parts = steps + 1, me = node.me.rank;
  const int number = partners.number_of(me);
  // Phases of strip t: value i is there (0: the operand, with the guests' ones), all is read.
  const auto ready = [&](std::int64_t t, int i) { return t * (parts + 1) + i + 1; };
  const auto all_read = [&](std::int64_t t) { return ready(t, parts); };
  const std::int64_t size = x.type->size;
  const std::int64_t strip = std::min(node.strip_bytes(parts) / size, x.count) * size;
  const ConstBuffer mine{operand(x), x.count, x.type};

  // The values of two strips, as the halves of an area.
  std::byte* values = nullptr;
  if (node.direct()) {
    values = s.bytes(2 * parts * strip);
    ConstBuffer views[64];
    for (int i = 0; i < 2 * parts; ++i) views[i] = as_bytes(values + i * strip, strip);
    s.show(0, {views, static_cast<std::size_t>(2 * parts)});
  }
  const Strips strips{x.count, std::max<std::int64_t>(strip / size, 1)};
  const auto before_reuse = [&](std::int64_t t) {
    if (number < 0) return s.await_phase(partners.host_of(me), all_read(t));
    for (int i = 0; i < steps; ++i)
      s.await_phase(partners.rank_of(number ^ (1 << i)), ready(t, i + 1));
    partners.for_guests(me, [&](int guest) { s.await_phase(guest, all_read(t)); });
  };
  for (std::int64_t t = 0; t < strips.count(); ++t) {
    const std::int64_t at = strips.begin(t) * size, n = strips.length(t), bytes = n * size;
    const auto value = [&](int i) {
      return node.direct() ? values + ((t % 2) * parts + i) * strip : node.piece(me, t, i, parts);
    };
    const auto source = [&](int rank, int i) -> Source {
      if (!node.direct())
        return {.rank = rank, .here = as_bytes(node.piece(rank, t, i, parts), bytes)};
      return {.rank = rank, .what = 0, .index = static_cast<std::int32_t>((t % 2) * parts + i)};
    };
    const Buffer result = placed(static_cast<std::byte*>(x.recv) + at, 0);
    if (t >= 2) before_reuse(t - 2);
    s.fetch(own(mine), at, bytes, placed(value(0), at));
    if (number < 0) {
      const int host = partners.host_of(me);
      s.signal(ready(t, 0));
      s.wake(host);
      s.await_phase(host, ready(t, steps));
      s.fetch(source(host, steps), 0, bytes, result);
      s.signal(all_read(t));
      s.wake(host);
      continue;
    }
    partners.for_guests(me, [&](int guest) {
      s.await_phase(guest, ready(t, 0));
      s.fold(source(guest, 0), 0, value(0), n, *x.type, *x.op);
    });
    s.signal(ready(t, 0));
    for (int i = 0; i < steps; ++i) {
      const int other = number ^ (1 << i), partner = partners.rank_of(other);
      s.wake(partner);
      s.await_phase(partner, ready(t, i));
      if (number < other) {
        s.fetch(source(partner, i), 0, bytes, placed(value(i + 1), 0));
        s.reduce(value(i), value(i + 1), n, *x.type, *x.op);
      } else {
        s.fetch(own(as_bytes(value(i), bytes)), 0, bytes, as_bytes(value(i + 1), bytes));
        s.fold(source(partner, i), 0, value(i + 1), n, *x.type, *x.op);
      }
      s.signal(ready(t, i + 1));
      s.wake(partner);  // it may wait to write value i again
    }
    partners.for_guests(me, [&](int guest) { s.wake(guest); });
    s.fetch(own(as_bytes(value(steps), bytes)), 0, bytes, result);
    s.signal(all_read(t));
    partners.for_guests(me, [&](int guest) { s.wake(guest); });
  }
  if (node.direct() && strips.count() > 0) before_reuse(strips.count() - 1);
}

}  // namespace weft::coll
