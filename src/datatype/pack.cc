// SPDX-License-Identifier: Apache-2.0
//
// pack, unpack, copy and runs: what the rooms above do with typed buffers. Each is a Sink of
// walk(); a dense type never gets that far. Nothing here allocates.
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "datatype/strided.h"
#include "datatype/walk.h"

namespace weft::datatype {
namespace {

using std::int64_t;

struct Packer {
  std::byte* out;

  bool block(const std::byte* p, int64_t length) {
    copy_block(out, p, length);
    out += length;
    return true;
  }
  bool strided(const std::byte* p, int64_t n, int64_t stride, int64_t length) {
    copy_strided({out, p, length, n, length, stride});
    out += n * length;
    return true;
  }
  bool strided2(const std::byte* p, int64_t outer, int64_t outer_stride, int64_t n, int64_t stride,
                int64_t length) {
    copy_strided({out, p, length, n, length, stride, outer, n * length, outer_stride});
    out += outer * n * length;
    return true;
  }
  bool scattered(const std::byte* p, const int64_t* disps, int64_t n, int64_t length) {
    for (int64_t i = 0; i < n; ++i) block(p + disps[i], length);
    return true;
  }
};

struct Unpacker {
  const std::byte* in;

  bool block(std::byte* p, int64_t length) {
    copy_block(p, in, length);
    in += length;
    return true;
  }
  bool strided(std::byte* p, int64_t n, int64_t stride, int64_t length) {
    copy_strided({p, in, length, n, stride, length});
    in += n * length;
    return true;
  }
  bool strided2(std::byte* p, int64_t outer, int64_t outer_stride, int64_t n, int64_t stride,
                int64_t length) {
    copy_strided({p, in, length, n, stride, length, outer, outer_stride, n * length});
    in += outer * n * length;
    return true;
  }
  bool scattered(std::byte* p, const int64_t* disps, int64_t n, int64_t length) {
    for (int64_t i = 0; i < n; ++i) block(p + disps[i], length);
    return true;
  }
};

/// Runs as process_vm_readv and its kin want them.
struct RunSink {
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
  bool strided2(std::byte* p, int64_t outer, int64_t outer_stride, int64_t count, int64_t stride,
                int64_t length) {
    for (int64_t i = 0; i < outer; ++i)
      if (!strided(p + i * outer_stride, count, stride, length)) return false;
    return true;
  }
  bool scattered(std::byte* p, const int64_t* disps, int64_t count, int64_t length) {
    for (int64_t i = 0; i < count; ++i)
      if (!block(p + disps[i], length)) return false;
    return true;
  }
};

/// The next pieces of one side of a copy: each is n blocks of one length at one distance.
struct Pieces {
  static constexpr int max = 32;
  struct Piece {
    std::byte* at;
    int64_t n, stride, length;
  };
  Piece piece[max];
  int n = 0, current = 0;
  int64_t skip = 0;  // bytes of the current piece's first block that are done

  bool strided(std::byte* p, int64_t count, int64_t stride, int64_t length) {
    if (n == max) return false;
    piece[n++] = {p, count, stride, length};
    return true;
  }
  bool block(std::byte* p, int64_t length) { return strided(p, 1, 0, length); }
  bool strided2(std::byte* p, int64_t outer, int64_t outer_stride, int64_t count, int64_t stride,
                int64_t length) {
    for (int64_t i = 0; i < outer; ++i)
      if (!strided(p + i * outer_stride, count, stride, length)) return false;
    return true;
  }
  bool scattered(std::byte* p, const int64_t* disps, int64_t count, int64_t length) {
    for (int64_t i = 0; i < count; ++i)
      if (!block(p + disps[i], length)) return false;
    return true;
  }

  void fill(const ConstBuffer& buffer, int64_t from, int64_t to) {
    n = current = 0;
    skip = 0;
    walk(buffer, from, to, *this);
  }
  bool empty() const { return current == n; }
  std::byte* head() const { return piece[current].at + skip; }
  int64_t head_bytes() const { return piece[current].length - skip; }
  void take_blocks(int64_t blocks) {
    Piece& p = piece[current];
    p.n -= blocks;
    p.at += blocks * p.stride;
    if (p.n == 0) ++current;
  }
  void take_bytes(int64_t bytes) {
    skip += bytes;
    if (skip < piece[current].length) return;
    skip = 0;
    take_blocks(1);
  }
};

/// Copy what both sides have ready at their front; returns the bytes.
int64_t copy_front(Pieces& from, Pieces& to) {
  const Pieces::Piece f = from.piece[from.current];
  const Pieces::Piece t = to.piece[to.current];
  if (from.skip == 0 && to.skip == 0 && f.length == t.length) {
    const int64_t n = std::min(f.n, t.n);
    copy_strided({t.at, f.at, f.length, n, t.stride, f.stride});
    from.take_blocks(n);
    to.take_blocks(n);
    return n * f.length;
  }
  const int64_t have = from.head_bytes(), want = to.head_bytes();
  if (to.skip == 0 && t.length <= have) {  // several blocks of `to` out of one of `from`
    const int64_t n = std::min(t.n, have / t.length);
    copy_strided({t.at, from.head(), t.length, n, t.stride, t.length});
    from.take_bytes(n * t.length);
    to.take_blocks(n);
    return n * t.length;
  }
  if (from.skip == 0 && f.length <= want) {
    const int64_t n = std::min(f.n, want / f.length);
    copy_strided({to.head(), f.at, f.length, n, f.length, f.stride});
    to.take_bytes(n * f.length);
    from.take_blocks(n);
    return n * f.length;
  }
  const int64_t n = std::min(have, want);
  copy_block(to.head(), from.head(), n);
  from.take_bytes(n);
  to.take_bytes(n);
  return n;
}

}  // namespace

int64_t pack(const ConstBuffer& from, int64_t offset, void* out, int64_t max) {
  WEFT_ASSERT(from.type->committed);
  const int64_t n = std::min(max, from.bytes() - offset);
  if (n <= 0) return 0;
  if (from.type->dense) {
    std::memcpy(out, block(from) + offset, static_cast<std::size_t>(n));
    return n;
  }
  Packer packer{static_cast<std::byte*>(out)};
  walk(from, offset, offset + n, packer);
  return n;
}

void unpack(const Buffer& to, int64_t offset, const void* in, int64_t n) {
  WEFT_ASSERT(to.type->committed);
  n = std::min(n, to.bytes() - offset);
  if (n <= 0) return;
  if (to.type->dense) {
    std::memcpy(block(to) + offset, in, static_cast<std::size_t>(n));
    return;
  }
  Unpacker unpacker{static_cast<const std::byte*>(in)};
  walk(to, offset, offset + n, unpacker);
}

void copy(const ConstBuffer& from, const Buffer& to, int64_t bytes) {
  bytes = std::min({bytes, from.bytes(), to.bytes()});
  if (bytes <= 0) return;
  if (to.type->dense) return void(pack(from, 0, block(to), bytes));
  if (from.type->dense) return unpack(to, 0, block(from), bytes);
  Pieces source, target;
  for (int64_t done = 0; done < bytes;) {
    // What is left over when one side runs dry is found again from `done`: no state to carry.
    source.fill(from, done, bytes);
    target.fill(to, done, bytes);
    while (!source.empty() && !target.empty()) done += copy_front(source, target);
  }
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
