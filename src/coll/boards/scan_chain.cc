// SPDX-License-Identifier: Apache-2.0
//
// Inclusive and exclusive scan along the ranks, strip by strip: a rank takes the result of the rank
// before, puts its own behind it, and signals; while the next one reads that strip it works on the
// one after. There is one order of operands, (c0 op c1) op c2, so it serves coll.reproducible too.
//
// reads    p-1 vectors, (s-1) m lines across sockets if neighbours are near
// copies   1 each, but for MPI_IN_PLACE, and 1 more through areas for who is read from; exclusive
//          1 for who is read from, and 1 for who reads
// steps    p-1 on the longest path for the first strip, then 1 per strip
// legal    types without gaps, any operation; MPI_IN_PLACE
// example  p = 3: 0 shows c0; 1 shows c0 op c1; 2 has (c0 op c1) op c2.
#include "coll/boards/algorithms.h"

namespace weft::coll {
namespace {

void scan(Schedule& s, const Operands& x, bool inclusive, const Site& node) {
  const int before = node.me.rank - 1, after = node.me.rank + 1;
  const bool first = before < 0, last = after == node.me.size, direct = node.direct();
  const std::int64_t size = x.type->size, total = x.count * size;
  const ConstBuffer mine{operand(x), x.count, x.type};
  const Buffer result{x.recv, x.count, x.type};
  // What the next rank reads: the whole vector, or (null) strips in the area.
  std::byte* shown = nullptr;
  if (direct && !last) {
    shown = inclusive ? static_cast<std::byte*>(x.recv) : s.bytes(total);
    const ConstBuffer view{shown, x.count, x.type};
    s.show(0, {&view, 1});
  }
  const auto done = [](std::int64_t t) { return t + 1; };  // read and shown
  const Strips strips{x.count, node.strip_bytes(1) / size};
  for (std::int64_t t = 0; t < strips.count(); ++t) {
    const std::int64_t at = strips.begin(t) * size, n = strips.length(t);
    const auto fold_behind = [&](const Source& left, std::byte* to) {
      s.fold(left, at, to, n, *x.type, *x.op);
    };
    std::byte* in_result = static_cast<std::byte*>(x.recv) + at;
    std::byte* to = shown != nullptr ? shown + at : node.piece(node.me.rank, t, 0, 1);
    if (!direct && !last && t >= 2) s.await_phase(after, done(t - 2));
    if (inclusive && !is_in_place(x.send)) s.fetch(own(mine), at, n * size, result);
    if (!inclusive && !last) s.fetch(own(mine), at, n * size, placed(to, at));
    if (!first) {
      s.await_phase(before, done(t));
      const Source left = node.source(before, t, at);
      if (inclusive) {
        fold_behind(left, in_result);
      } else {
        s.fetch(left, at, n * size, result);
        if (!last) fold_behind(own(result), to);
      }
    }
    if (inclusive && !direct && !last) s.fetch(own(result), at, n * size, placed(to, at));
    s.signal(done(t));
    if (!first) s.wake(before);
    if (!last) s.wake(after);
  }
  if (direct && !last && strips.count() > 0) s.await_phase(after, done(strips.count() - 1));
}

}  // namespace

void scan_chain(Schedule& s, const Operands& x, const Site& node) {
  scan(s, x, true, node);
}

void exscan_chain(Schedule& s, const Operands& x, const Site& node) {
  scan(s, x, false, node);
}

}  // namespace weft::coll
