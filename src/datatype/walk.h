// SPDX-License-Identifier: Apache-2.0
//
// walk(): run a layout program over the packed bytes [from, to) and hand what it finds to a Sink.
// Any position can be entered directly (a division per level, a binary search per list), so there
// is no cursor to keep between the parts of a pipelined message. Recursion is as deep as loops
// nest. A Sink gets addresses in packed order:
//   bool block(p, length)                one contiguous run
//   bool strided(p, n, stride, length)   n runs
//   bool scattered(p, disps, n, length)  n runs at p + disps[i]
// and returns false to end the walk. A Sink with `bulk` takes whole loops in one call, too:
//   void nest(p, n, stride, node)        n times a node with levels > 0
//   void members(p, n, stride, node)     n times a node of few blocks
#pragma once

#include <algorithm>

#include "datatype/layout.h"

namespace weft::datatype {
namespace walk_detail {

using std::int64_t;

template <class Sink>
bool walk(const Node& node, std::byte* base, int64_t from, int64_t to, Sink& sink);

/// The equal blocks of a vector or scatter: block i is at base + place(i); bulk(i, n) hands n on.
template <class Sink, class Place, class Bulk>
[[gnu::always_inline]] inline bool equal_blocks(int64_t length, std::byte* base, int64_t from,
                                                int64_t to, Sink& sink, Place place, Bulk bulk) {
  int64_t i = 0;
  if (from != 0) {
    i = from / length;
    if (const int64_t skip = from - i * length; skip != 0) {
      const int64_t part = std::min(length - skip, to - from);
      if (!sink.block(base + place(i) + skip, part)) return false;
      from += part;
      ++i;
    }
  }
  if (const int64_t whole = (to - from) / length; whole > 0) {
    if (!bulk(i, whole)) return false;
    from += whole * length;
    i += whole;
  }
  return from == to || sink.block(base + place(i), to - from);
}

/// `n` whole rounds of a loop.
template <class Sink>
bool walk_rounds(const Node& loop, std::byte* base, int64_t n, Sink& sink) {
  const Node& child = *loop.child;
  if constexpr (Sink::bulk) {
    if (child.levels > 0) return sink.nest(base, n, loop.stride, child), true;
    if (child.kind == Node::Kind::blocks && child.count <= max_members)
      return sink.members(base, n, loop.stride, child), true;
  }
  for (; n > 0; --n, base += loop.stride)
    if (!walk(child, base, 0, child.size, sink)) return false;
  return true;
}

template <class Sink>
bool walk_loop(const Node& node, std::byte* base, int64_t from, int64_t to, Sink& sink) {
  const Node& child = *node.child;
  int64_t i = 0;
  if (from != 0) {
    i = from / child.size;
    if (const int64_t skip = from - i * child.size; skip != 0) {
      const int64_t part = std::min(child.size - skip, to - from);
      if (!walk(child, base + i * node.stride, skip, skip + part, sink)) return false;
      from += part;
      ++i;
    }
  }
  const int64_t whole = (to - from) / child.size;
  if (!walk_rounds(node, base + i * node.stride, whole, sink)) return false;
  i += whole;
  from += whole * child.size;
  return from == to || walk(child, base + i * node.stride, 0, to - from, sink);
}

/// The entry of a table of n that holds packed byte `from`.
template <class Item>
int64_t find_entry(const Item* table, int64_t n, int64_t from) {
  if (from == 0) return 0;
  return std::upper_bound(table, table + n, from,
                          [](int64_t at, const Item& item) { return at < item.at; }) -
         table - 1;
}

template <class Sink>
bool walk(const Node& node, std::byte* base, int64_t from, int64_t to, Sink& sink) {
  switch (node.kind) {
    case Node::Kind::block:
      return sink.block(base + from, to - from);
    case Node::Kind::vector:
      return equal_blocks(
          node.length, base, from, to, sink, [&](int64_t i) { return i * node.stride; },
          [&](int64_t i, int64_t n) {
            return sink.strided(base + i * node.stride, n, node.stride, node.length);
          });
    case Node::Kind::scatter:
      return equal_blocks(
          node.length, base, from, to, sink, [&](int64_t i) { return node.disps[i]; },
          [&](int64_t i, int64_t n) {
            return sink.scattered(base, node.disps + i, n, node.length);
          });
    case Node::Kind::blocks:
      for (int64_t i = find_entry(node.runs, node.count, from); from < to; ++i) {
        const int64_t part = std::min(node.runs[i + 1].at, to) - from;
        if (!sink.block(base + node.runs[i].disp + (from - node.runs[i].at), part)) return false;
        from += part;
      }
      return true;
    case Node::Kind::loop:
      return walk_loop(node, base, from, to, sink);
    case Node::Kind::sequence:
      for (int64_t i = find_entry(node.parts, node.count, from); from < to; ++i) {
        const Part& p = node.parts[i];
        const int64_t end = std::min(node.parts[i + 1].at, to);
        if (!walk(*p.node, base + p.disp, from - p.at, end - p.at, sink)) return false;
        from = end;
      }
      return true;
  }
  return true;
}

}  // namespace walk_detail

/// The packed bytes [from, to) of `count` elements of a type that is not dense. from < to.
template <class Sink>
bool walk(const ConstBuffer& buffer, std::int64_t from, std::int64_t to, Sink& sink) {
  const Type& type = *buffer.type;
  const Node& element = *type.layout->node;
  // Sinks decide whether they read or write.
  auto* base =
      const_cast<std::byte*>(static_cast<const std::byte*>(buffer.data)) + type.layout->disp;
  if (buffer.count == 1) return walk_detail::walk(element, base, from, to, sink);
  Node all;
  all.kind = Node::Kind::loop;
  all.size = buffer.count * element.size;
  all.count = buffer.count;
  all.stride = type.extent;
  all.child = &element;
  if (element.kind == Node::Kind::block) {
    all.kind = Node::Kind::vector;
    all.length = element.length;
  } else if (element.kind == Node::Kind::vector && element.count * element.stride == type.extent) {
    all = element;
    all.count *= buffer.count;
    all.size *= buffer.count;
  }
  all.levels = levels_of(all);
  return walk_detail::walk(all, base, from, to, sink);
}

}  // namespace weft::datatype
