// SPDX-License-Identifier: Apache-2.0
//
// pack, unpack, copy and runs: what the rooms above do with typed buffers. Each is a Sink of
// walk(); a dense type never gets that far. Nothing here allocates. What is large is offered to
// idle threads (parallel/jobs.h) in parts of equal bytes: a walk can begin at any byte, at whatever
// level of nesting that is.
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/copy.h"
#include "datatype/strided.h"
#include "datatype/walk.h"
#include "parallel/jobs.h"

namespace weft::datatype {
namespace {

using std::int64_t;

/// Moves between the packed form, which it advances through, and memory.
template <bool Packing>
struct Mover {
  static constexpr bool bulk = true;
  std::byte* packed;

  bool block(std::byte* p, int64_t length) {
    if constexpr (Packing)
      copy_block(packed, p, length);
    else
      copy_block(p, packed, length);
    packed += length;
    return true;
  }

  bool strided(std::byte* p, int64_t n, int64_t stride, int64_t length) {
    run(p, length, 1, [&](int) { return Loop{n, length, stride}; });
    packed += n * length;
    return true;
  }

  bool scattered(std::byte* p, const int64_t* disps, int64_t n, int64_t length) {
    copy_scattered<Packing>(packed, p, disps, n, length);
    packed += n * length;
    return true;
  }

  void nest(std::byte* p, int64_t n, int64_t stride, const Node& child) {
    const Node* node = &child;
    const int levels = child.levels + 1;
    Loop loops[max_levels + 1];
    loops[levels - 1] = {n, child.size, stride};
    for (int k = levels - 2; k > 0; --k, node = node->child)
      loops[k] = {node->count, node->child->size, node->stride};
    loops[0] = {node->count, node->length, node->stride};
    run(p, node->length, levels, [&](int k) { return loops[k]; });
    packed += n * child.size;
  }

  /// Some rounds at a time, so that their memory is still near when the next member comes.
  void members(std::byte* p, int64_t n, int64_t stride, const Node& child) {
    constexpr int64_t rounds = 64;
    while (n > 0) {
      const int64_t now = std::min(n, rounds);
      std::byte* const start = packed;
      for (int64_t i = 0; i < child.count; ++i) {
        const Run* r = child.runs + i;
        packed = start + r->at;
        run(p + r->disp, r[1].at - r->at, 1, [&](int) { return Loop{now, child.size, stride}; });
      }
      packed = start + now * child.size;
      p += now * stride;
      n -= now;
    }
  }

 private:
  struct Loop {
    int64_t n, packed, memory;  // rounds; distance in the packed form and in memory
  };
  template <class LoopAt>
  void run(std::byte* p, int64_t length, int levels, LoopAt loop_at) {
    Strided s;
    s.to = Packing ? packed : p;
    s.from = Packing ? p : packed;
    s.length = length;
    s.levels = levels;
    for (int k = 0; k < levels; ++k) {
      const Loop l = loop_at(k);
      s.level[k] = {l.n, Packing ? l.packed : l.memory, Packing ? l.memory : l.packed};
    }
    copy_strided(s);
  }
};

/// Runs as process_vm_readv and its kin want them.
struct RunSink {
  static constexpr bool bulk = false;
  struct iovec* out;
  int max;
  int n = 0;
  int64_t bytes = 0;

  bool block(std::byte* p, int64_t length) {
    if (n > 0 && static_cast<std::byte*>(out[n - 1].iov_base) + out[n - 1].iov_len == p) {
      out[n - 1].iov_len += static_cast<std::size_t>(length);
    } else {
      if (n == max) return false;
      out[n++] = {p, static_cast<std::size_t>(length)};
    }
    bytes += length;
    return true;
  }
  bool strided(std::byte* p, int64_t count, int64_t stride, int64_t length) {
    for (int64_t i = 0; i < count; ++i)
      if (!block(p + i * stride, length)) return false;
    return true;
  }
  bool scattered(std::byte* p, const int64_t* disps, int64_t count, int64_t length) {
    for (int64_t i = 0; i < count; ++i)
      if (!block(p + disps[i], length)) return false;
    return true;
  }
};

/// The next pieces of one side of a copy: each is n blocks of one length, at one distance or at the
/// places of a list.
struct Pieces {
  static constexpr bool bulk = false;
  static constexpr int max = 64;
  struct Piece {
    std::byte* base;
    int64_t n, stride, length;
    const int64_t* disps;  // nullptr: `stride` apart
    std::byte* at(int64_t i) const { return base + (disps != nullptr ? disps[i] : i * stride); }
  };
  Piece piece[max];
  int n = 0, current = 0;
  int64_t skip = 0;  // bytes of the current piece's first block that are done

  bool add(const Piece& p) {
    if (n == max) return false;
    piece[n++] = p;
    return true;
  }
  bool block(std::byte* p, int64_t length) { return add({p, 1, 0, length, nullptr}); }
  bool strided(std::byte* p, int64_t count, int64_t stride, int64_t length) {
    return add({p, count, stride, length, nullptr});
  }
  bool scattered(std::byte* p, const int64_t* disps, int64_t count, int64_t length) {
    return add({p, count, 0, length, disps});
  }

  void fill(const ConstBuffer& buffer, int64_t from, int64_t to) {
    n = current = 0;
    skip = 0;
    walk(buffer, from, to, *this);
  }
  bool empty() const { return current == n; }
  std::byte* head() const { return piece[current].at(0) + skip; }
  int64_t head_bytes() const { return piece[current].length - skip; }
  void take_blocks(int64_t blocks) {
    Piece& p = piece[current];
    p.n -= blocks;
    if (p.n == 0) return void(++current);
    if (p.disps != nullptr)
      p.disps += blocks;
    else
      p.base += blocks * p.stride;
  }
  void take_bytes(int64_t bytes) {
    skip += bytes;
    if (skip < piece[current].length) return;
    skip = 0;
    take_blocks(1);
  }
};

/// n blocks of one length on both sides.
void copy_equal(const Pieces::Piece& to, const Pieces::Piece& from, int64_t n) {
  if (to.disps == nullptr && from.disps == nullptr)
    return copy_strided({to.base, from.base, from.length, 1, {{n, to.stride, from.stride}}});
  for (int64_t i = 0; i < n; ++i) copy_block(to.at(i), from.at(i), from.length);
}

/// Copy what both sides have ready at their front; returns the bytes.
int64_t copy_front(Pieces& from, Pieces& to) {
  const Pieces::Piece& f = from.piece[from.current];
  const Pieces::Piece& t = to.piece[to.current];
  const bool fresh = from.skip == 0 && to.skip == 0;
  if (fresh && f.length == t.length) {
    const int64_t n = std::min(f.n, t.n), length = f.length;
    copy_equal(t, f, n);
    from.take_blocks(n);
    to.take_blocks(n);
    return n * length;
  }
  // Short blocks of one side make up whole blocks of the other: two nested loops.
  const bool regular = fresh && f.disps == nullptr && t.disps == nullptr;
  if (regular && t.length % f.length == 0 && f.n >= t.length / f.length) {
    const int64_t k = t.length / f.length, n = std::min(t.n, f.n / k), bytes = n * t.length;
    copy_strided(
        {t.base, f.base, f.length, 2, {{k, f.length, f.stride}, {n, t.stride, k * f.stride}}});
    from.take_blocks(n * k);
    to.take_blocks(n);
    return bytes;
  }
  if (regular && f.length % t.length == 0 && t.n >= f.length / t.length) {
    const int64_t k = f.length / t.length, n = std::min(f.n, t.n / k), bytes = n * f.length;
    copy_strided(
        {t.base, f.base, t.length, 2, {{k, t.stride, t.length}, {n, k * t.stride, f.stride}}});
    from.take_blocks(n);
    to.take_blocks(n * k);
    return bytes;
  }
  // Several blocks of one side out of one block of the other.
  const int64_t have = from.head_bytes(), want = to.head_bytes();
  if (to.skip == 0 && t.disps == nullptr && t.length <= have) {
    const int64_t n = std::min(t.n, have / t.length), bytes = n * t.length;
    copy_strided({t.base, from.head(), t.length, 1, {{n, t.stride, t.length}}});
    from.take_bytes(bytes);
    to.take_blocks(n);
    return bytes;
  }
  if (from.skip == 0 && f.disps == nullptr && f.length <= want) {
    const int64_t n = std::min(f.n, want / f.length), bytes = n * f.length;
    copy_strided({to.head(), f.base, f.length, 1, {{n, f.length, f.stride}}});
    to.take_bytes(bytes);
    from.take_blocks(n);
    return bytes;
  }
  const int64_t n = std::min(have, want);
  copy_block(to.head(), from.head(), n);
  from.take_bytes(n);
  to.take_bytes(n);
  return n;
}

int64_t block_bytes_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::block:
    case Node::Kind::vector:
    case Node::Kind::scatter:
      return node.length;
    case Node::Kind::loop:
      return block_bytes_of(*node.child);
    case Node::Kind::blocks:
    case Node::Kind::sequence:
      return std::max<int64_t>(1, node.size / node.count);
  }
  return 1;
}

/// What one thread takes to move `n` bytes of this type, about: the profile of a copy. Memory moves
/// by lines; a block takes each line that it touches, as far as its neighbours are not on it too.
int64_t worth_ns(const Type& type, int64_t n) {
  constexpr double line = 64;
  const double lines = static_cast<double>(n) / line;
  if (type.dense) return parallel::jobs().worth_ns(lines);
  const auto length = static_cast<double>(block_bytes(type));
  const double spread = static_cast<double>(type.true_extent) / static_cast<double>(type.size);
  const double touched =
      std::min(lines * spread, static_cast<double>(n) / length * (1 + length / line));
  return parallel::jobs().worth_ns(std::max(lines, touched));
}

// Parts begin at a line of the packed form, if they are of many.
constexpr int64_t line_unit = 64, many_lines = 4096;
int64_t unit_for(int64_t bytes) {
  return bytes >= many_lines ? line_unit : 1;
}

/// Is it less than could be worth offering? Most are, and are not to pay for the question.
bool is_short(int64_t bytes) {
  constexpr int64_t shortest = 2048;
  return bytes < shortest && !parallel::jobs().is_forced();
}

/// Bytes [at, end) between two types that are not dense.
void copy_part(const ConstBuffer& from, const Buffer& to, int64_t at, int64_t end) {
  Pieces source, target;
  while (at < end) {
    // What is left over when one side runs dry is found again from `at`: no state to carry.
    source.fill(from, at, end);
    target.fill(to, at, end);
    while (!source.empty() && !target.empty()) at += copy_front(source, target);
  }
}

}  // namespace

int64_t block_bytes(const Type& type) {
  return type.dense ? type.size : block_bytes_of(*type.layout->node);
}

void pack_alone(const ConstBuffer& from, int64_t offset, void* out, int64_t n) {
  if (from.type->dense) return copy_bytes(out, block(from) + offset, static_cast<std::size_t>(n));
  Mover<true> mover{static_cast<std::byte*>(out)};
  walk(from, offset, offset + n, mover);
}

void unpack_alone(const Buffer& to, int64_t offset, const void* in, int64_t n) {
  if (to.type->dense) return copy_bytes(block(to) + offset, in, static_cast<std::size_t>(n));
  // Only read: the mover writes to memory.
  Mover<false> mover{const_cast<std::byte*>(static_cast<const std::byte*>(in))};
  walk(to, offset, offset + n, mover);
}

int64_t pack(const ConstBuffer& from, int64_t offset, void* out, int64_t max) {
  WEFT_ASSERT(from.type->committed);
  const int64_t n = std::min(max, from.bytes() - offset);
  if (n <= 0) return 0;
  if (is_short(n)) {
    pack_alone(from, offset, out, n);
    return n;
  }
  parallel::for_parts(n, unit_for(n), worth_ns(*from.type, n), [&](int64_t at, int64_t end) {
    pack_alone(from, offset + at, static_cast<std::byte*>(out) + at, end - at);
  });
  return n;
}

void unpack(const Buffer& to, int64_t offset, const void* in, int64_t n) {
  WEFT_ASSERT(to.type->committed);
  n = std::min(n, to.bytes() - offset);
  if (n <= 0) return;
  if (is_short(n)) return unpack_alone(to, offset, in, n);
  parallel::for_parts(n, unit_for(n), worth_ns(*to.type, n), [&](int64_t at, int64_t end) {
    unpack_alone(to, offset + at, static_cast<const std::byte*>(in) + at, end - at);
  });
}

void copy_alone(const ConstBuffer& from, const Buffer& to, int64_t bytes) {
  if (to.type->dense)
    pack_alone(from, 0, block(to), bytes);
  else if (from.type->dense)
    unpack_alone(to, 0, block(from), bytes);
  else
    copy_part(from, to, 0, bytes);
}

void copy(const ConstBuffer& from, const Buffer& to, int64_t bytes) {
  bytes = std::min({bytes, from.bytes(), to.bytes()});
  if (bytes <= 0) return;
  if (to.type->dense) return void(pack(from, 0, block(to), bytes));
  if (from.type->dense) return unpack(to, 0, block(from), bytes);
  if (is_short(bytes)) return copy_part(from, to, 0, bytes);
  const int64_t worth = std::max(worth_ns(*from.type, bytes), worth_ns(*to.type, bytes));
  parallel::for_parts(bytes, unit_for(bytes), worth,
                      [&](int64_t at, int64_t end) { copy_part(from, to, at, end); });
}

int runs(const ConstBuffer& of, int64_t offset, struct iovec* out, int max, int64_t* bytes) {
  WEFT_ASSERT(of.type->committed);
  *bytes = 0;
  const int64_t n = of.bytes() - offset;
  if (n <= 0 || max <= 0) return 0;
  if (of.type->dense) {
    out[0] = {const_cast<std::byte*>(block(of)) + offset, static_cast<std::size_t>(n)};
    *bytes = n;
    return 1;
  }
  RunSink sink{out, max};
  walk(of, offset, offset + n, sink);
  *bytes = sink.bytes;
  return sink.n;
}

}  // namespace weft::datatype
