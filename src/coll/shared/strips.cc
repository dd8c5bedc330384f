// SPDX-License-Identifier: Apache-2.0
//
// Long collectives between processes: through the shared block, part by part, so that what one rank
// has just written is still in a cache when others read it. A broadcast goes in pieces, of which
// the root may be a window ahead; reductions and allgather go in strips with meetings between them.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "coll/shared/shared.h"
#include "coll/shared/tile.h"

namespace weft::coll {

void Shared::bcast_pieces(const Buffer& buffer, int root) {
  const auto total = static_cast<std::int64_t>((rank_ == root ? what_ : seat(root).what) >> 8);
  for (std::int64_t at = 0; at < total; at += piece_bytes) {
    const std::int64_t n = std::min(piece_bytes, total - at);
    if (rank_ == root) {
      reserve();
      datatype::pack(buffer, at, piece(root), n);
      publish();
      wake_all();
    } else {
      if (at > 0) {
        begin();
        await(root, 0);
      }
      const std::int64_t room = std::clamp<std::int64_t>(buffer.bytes() - at, 0, n);
      if (room > 0) datatype::unpack(buffer, at, piece(root), room);
    }
    finish();
  }
}

/// Of each strip everybody reduces a part; then all collect the parts, or the root does.
void Shared::reduce_strips(const Operands& x, int root) {
  const std::int64_t size = x.type->size;
  const auto* own = static_cast<const std::byte*>(is_in_place(x.send) ? x.recv : x.send);
  auto* result = static_cast<std::byte*>(x.recv);
  const std::int64_t step = strip_bytes / size;
  for (std::int64_t at = 0; at < x.count; at += step) {
    const std::int64_t n = std::min(step, x.count - at);
    const bool wanted = root == everybody || root == rank_;
    const Tile mine(n, size, size_, rank_);
    // The own part is for nobody else.
    copy_bytes(strip(rank_), own + at * size, static_cast<std::size_t>(mine.begin * size));
    copy_bytes(strip(rank_) + mine.end * size, own + (at + mine.end) * size,
               static_cast<std::size_t>((n - mine.end) * size));
    if (!meet_and_agree()) return;
    alignas(64) std::byte value[fold_bytes];
    for (std::int64_t k = mine.begin; k < mine.end; k += fold_bytes / size) {
      const std::int64_t m = std::min(fold_bytes / size, mine.end - k);
      fold(x, m, size_, value, [&](int i) -> const std::byte* {
        return i == rank_ ? own + (at + k) * size : strip(i) + k * size;
      });
      const auto bytes = static_cast<std::size_t>(m * size);
      if (root != rank_) std::memcpy(strip(rank_) + k * size, value, bytes);
      if (wanted) std::memcpy(result + (at + k) * size, value, bytes);
    }
    meet_again();
    for (int i = 0; i < size_ && wanted; ++i) {
      const Tile part(n, size, size_, i);
      if (i != rank_)
        copy_bytes(result + (at + part.begin) * size, strip(i) + part.begin * size,
                   static_cast<std::size_t>((part.end - part.begin) * size));
    }
    ++strips_used_;
  }
}

void Shared::allgather_strips(const ConstBuffer& send, const Blocks& recv) {
  const bool in_place = is_in_place(send.data);
  const ConstBuffer own = in_place ? ConstBuffer(recv[rank_]) : send;
  const std::int64_t total = own.bytes();
  for (std::int64_t at = 0; at < total; at += strip_bytes) {
    const std::int64_t n = std::min(strip_bytes, total - at);
    datatype::pack(own, at, strip(rank_), n);
    if (!meet_and_agree()) return;
    for (int i = 0; i < size_; ++i) {
      const int from = (rank_ + i) % size_;
      if (from != rank_ || !in_place) datatype::unpack(recv[from], at, strip(from), n);
    }
    ++strips_used_;
  }
}

}  // namespace weft::coll
