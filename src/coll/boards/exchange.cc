// SPDX-License-Identifier: Apache-2.0
//
// Blocks between any ranks, beginning with the neighbour. Ranks of one process write theirs to
// where they are wanted. Else a sender puts a strip of each block into its area: one that all read
// (gather, allgather), or one per receiver. What is folded (reduce_scatter) is always read.
//
// moves    p-1 blocks each (gather: the root p-1; scatter: the others 1)
// copies   1 per block; through areas 2
// steps    one flag per block that is read, and one per reader before its source returns or writes
//          a strip again
// legal    blocks of any sizes and types; MPI_IN_PLACE; reduce_scatter: operations that commute,
//          types without gaps
#include "coll/boards/algorithms.h"

namespace weft::coll {
namespace {

ConstBuffer nothing() {
  return as_bytes(static_cast<const void*>(nullptr), 0);
}

// What a label takes in an area whose strips are large, or small.
constexpr std::int64_t label_line = 64, label_bytes = sizeof(Label);

/// `sends(j)`: what rank j reads, the same for all if `common`; `wanted(j)`: bytes this rank reads
/// of rank j; `take(j, source, at, n)` emits the reading. `unit`: what must not be cut. Without
/// one, whoever reads compares what it wants with what there is.
template <class Sends, class Wanted, class Take>
struct Exchange {
  Schedule& s;
  const Site& node;
  bool common;
  std::int64_t unit;
  Sends sends;
  Wanted wanted;
  Take take;

  int other(int i) const { return (node.me.rank + i) % node.me.size; }
  template <class Body>
  void for_readers(std::int64_t from_byte, Body&& body) const {
    for (int i = 1; i < node.me.size; ++i)
      if (sends(other(i)).bytes() > from_byte) body(other(i));
  }
  template <class Body>
  void for_sources(std::int64_t from_byte, Body&& body) const {
    for (int i = 1; i < node.me.size; ++i)
      if (wanted(other(i)) > from_byte) body(other(i));
  }

  void directly() const {
    show();
    s.signal(1);
    for_readers(0, [&](int j) { s.wake(j); });
    for_sources(0, [&](int j) {
      s.await_phase(j, 1);
      take(j, Source{.rank = j, .what = 0, .index = common ? 0 : node.me.rank}, 0, wanted(j));
    });
    s.signal(2);
    for_sources(0, [&](int j) { s.wake(j); });
    for_readers(0, [&](int j) { s.await_phase(j, 2); });
  }

  void show() const {
    if (common) {
      ConstBuffer view = nothing();
      for_readers(0, [&](int j) { view = sends(j); });
      return s.show(0, {&view, 1});
    }
    const int p = node.me.size;
    ConstBuffer* const views = s.views(p);
    for (int j = 0; j < p; ++j) views[j] = j == node.me.rank ? nothing() : sends(j);
    s.show(0, {views, static_cast<std::size_t>(p)});
  }

  // Round t: strip t of every block that is so long. Phases: 2t + 1, it is in the area; 2t + 2,
  // this rank has read strip t of others.
  void in_rounds() const {
    const int parts = common ? 1 : node.me.size, me = node.me.rank;
    const std::int64_t most = node.strip_bytes(parts) / unit * unit;
    const bool compared = unit == 1;
    // In front of the first strip of each block.
    const std::int64_t label = !compared || common      ? 0
                               : most > 16 * label_line ? label_line
                                                        : label_bytes;
    std::int64_t longest = 0, announced = 0;
    for (int i = 1; i < node.me.size; ++i)
      longest = std::max({longest, sends(other(i)).bytes(), wanted(other(i))});
    for_readers(0, [&](int j) { announced = sends(j).bytes(); });
    if (common && compared) s.announce(announced);
    for (std::int64_t t = 0, at = 0; at < longest; at += most - (t++ == 0 ? label : 0)) {
      const std::int64_t room = t == 0 ? label : 0, here = most - room;
      if (t >= 2) for_readers(at, [&](int j) { s.await_phase(j, 2 * (t - 2) + 2); });
      bool filled = false;
      for_readers(at, [&](int j) {
        if (common && filled) return;
        filled = true;
        const ConstBuffer block = sends(j);
        std::byte* piece = node.piece(me, t, common ? 0 : j, parts);
        if (room > 0) s.label(piece, block.bytes());
        s.fetch(own(block), at, std::min(here, block.bytes() - at), placed(piece + room, at));
      });
      s.signal(2 * t + 1);
      for_readers(at, [&](int j) { s.wake(j); });
      for_sources(at, [&](int j) {
        s.await_phase(j, 2 * t + 1);
        const std::byte* piece = node.piece(j, t, common ? 0 : me, parts);
        if (compared && t == 0) s.expect(j, wanted(j), common ? nullptr : piece);
        const Source from{.rank = j, .here = as_bytes(piece + room - at, INT64_MAX)};
        take(j, from, at, std::min(here, wanted(j) - at));
      });
      s.signal(2 * t + 2);
      for_sources(at, [&](int j) { s.wake(j); });
    }
  }

  void emit() const { node.direct() ? directly() : in_rounds(); }
};

template <class Sends, class Wanted, class Take>
void exchange(Schedule& s, const Site& node, bool common, Sends sends, Wanted wanted, Take take,
              std::int64_t unit = 1) {
  Exchange<Sends, Wanted, Take>{s, node, common, unit, sends, wanted, take}.emit();
}

/// Who has a block writes it to where it is wanted: what others have read, its owner would have to
/// fetch back before it is written again. Labels in the areas tell how long blocks are, for what a
/// rank shows is gone when it waits for nobody any more.
template <class Sends, class Receives>
void write_directly(Schedule& s, const Site& node, bool common, Sends sends, Receives receives) {
  const int me = node.me.rank, p = node.me.size;
  const auto label = [&](int rank, int with, bool wanted) {
    return node.areas.of(rank) + (wanted ? p + with : with) * label_bytes;
  };
  const auto for_others = [&](auto&& body) {
    for (int i = 1; i < p; ++i) {
      const int j = (me + i) % p;
      body(j, sends(j).bytes(), receives(j).bytes());
    }
  };
  ConstBuffer* const rooms = s.views(p);
  rooms[me] = nothing();
  for_others([&](int j, std::int64_t given, std::int64_t wanted) {
    rooms[j] = receives(j);
    if (wanted > 0) s.label(label(me, j, true), wanted);
    if (given > 0 && common) s.announce(given);
    if (given > 0 && !common) s.label(label(me, j, false), given);
  });
  s.show(0, {rooms, static_cast<std::size_t>(p)});
  s.signal(1);
  for_others([&](int j, std::int64_t given, std::int64_t wanted) {
    if (given > 0 || wanted > 0) s.wake(j);
  });
  for_others([&](int j, std::int64_t given, std::int64_t wanted) {
    if (given > 0 || wanted > 0) s.await_phase(j, 1);
    if (wanted > 0) s.expect(j, wanted, common ? nullptr : label(j, me, false));
    if (given > 0) s.give(sends(j), Source{.rank = j, .what = 0, .index = me}, label(j, me, true));
  });
  s.signal(2);
  for_others([&](int j, std::int64_t given, std::int64_t) {
    if (given > 0) s.wake(j);
  });
  for_others([&](int j, std::int64_t, std::int64_t wanted) {
    if (wanted > 0) s.await_phase(j, 2);
  });
}

/// Blocks as they are.
template <class Sends, class Receives>
void move(Schedule& s, const Site& node, bool common, Sends sends, Receives receives) {
  if (node.direct()) return write_directly(s, node, common, sends, receives);
  exchange(
      s, node, common, sends, [&](int j) { return receives(j).bytes(); },
      [&](int j, const Source& from, std::int64_t at, std::int64_t n) {
        s.fetch(from, at, n, receives(j));
      });
}

}  // namespace

void gather_exchange(Schedule& s, const ConstBuffer& send, const Blocks& recv, int root,
                     const Site& node) {
  const bool is_root = node.me.rank == root;
  if (is_root && !is_in_place(send.data)) s.copy(send, recv[root]);
  move(
      s, node, true, [&](int j) { return j == root ? send : nothing(); },
      [&](int j) { return is_root ? recv[j] : as_bytes(static_cast<void*>(nullptr), 0); });
}

void gather_known(Schedule& s, const ConstBuffer& mine, std::byte* all, int root,
                  const Site& node) {
  const bool is_root = node.me.rank == root;
  const std::int64_t n = mine.bytes();
  if (is_root) s.copy(mine, as_bytes(all + root * n, n));
  exchange(
      s, node, true, [&](int j) { return !is_root && j == root ? mine : nothing(); },
      [&](int) { return is_root ? n : 0; },
      [&](int j, const Source& from, std::int64_t at, std::int64_t m) {
        s.fetch(from, at, m, as_bytes(all + j * n, n));
      },
      std::int64_t{sizeof(std::int64_t)});
}

void scatter_exchange(Schedule& s, const Blocks& send, const Buffer& recv, int root,
                      const Site& node) {
  const bool is_root = node.me.rank == root;
  if (is_root && !is_in_place(recv.data)) s.copy(send[root], recv);
  move(
      s, node, false, [&](int j) { return is_root ? ConstBuffer(send[j]) : nothing(); },
      [&](int j) { return j == root ? recv : as_bytes(static_cast<void*>(nullptr), 0); });
}

void allgather_exchange(Schedule& s, const ConstBuffer& send, const Blocks& recv,
                        const Site& node) {
  const ConstBuffer mine = contribution(send, recv[node.me.rank]);
  if (!is_in_place(send.data)) s.copy(mine, recv[node.me.rank]);
  move(
      s, node, true, [&](int) { return mine; }, [&](int j) { return recv[j]; });
}

void alltoall_exchange(Schedule& s, const Blocks& send, const Blocks& recv, const Site& node) {
  const int me = node.me.rank;
  if (!send.in_place()) {
    s.copy(send[me], recv[me]);
    return move(
        s, node, false, [&](int j) { return ConstBuffer(send[j]); },
        [&](int j) { return recv[j]; });
  }
  if (!node.direct())  // a strip of the area is written before what it holds is overwritten
    return move(
        s, node, false, [&](int j) { return ConstBuffer(recv[j]); },
        [&](int j) { return recv[j]; });
  // What others read must not be overwritten: they read copies, one behind the other.
  std::int64_t total = 0;
  for (int j = 0; j < node.me.size; ++j) total += recv[j].bytes();
  auto* kept = s.bytes(total);
  ConstBuffer* const blocks = s.views(node.me.size);
  for (int j = 0; j < node.me.size; ++j) {
    const ConstBuffer block = recv[j];
    blocks[j] = as_bytes(static_cast<const void*>(kept), block.bytes());
    if (j != me) s.copy(block, as_bytes(kept, block.bytes()));
    kept += block.bytes();
  }
  move(
      s, node, false, [&](int j) { return blocks[j]; }, [&](int j) { return recv[j]; });
}

void reduce_scatter_exchange(Schedule& s, const Operands& x, const Parts& parts, const Site& node) {
  const int me = node.me.rank;
  const std::int64_t size = x.type->size, total = parts[me] * size;
  const auto* mine = static_cast<const std::byte*>(operand(x));
  // In place, the result would overwrite what others have not read yet.
  const bool in_place = is_in_place(x.send);
  std::byte* value = in_place ? s.bytes(total) : static_cast<std::byte*>(x.recv);
  s.copy(as_bytes(mine + parts.before(me) * size, total), as_bytes(value, total));
  exchange(
      s, node, false,
      [&](int j) { return as_bytes(mine + parts.before(j) * size, parts[j] * size); },
      [&](int) { return total; },
      [&](int, const Source& from, std::int64_t at, std::int64_t n) {
        s.fold(from, at, value + at, n / size, *x.type, *x.op);
      },
      size);
  if (in_place) s.copy(as_bytes(value, total), as_bytes(x.recv, total));
}

}  // namespace weft::coll
