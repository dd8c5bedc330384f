// SPDX-License-Identifier: Apache-2.0
//
// Long collectives between ranks of one process: they use each other's buffers, so that every byte
// is copied once. Blocks are written to where they are wanted: what others read, its owner would
// have to fetch back before he writes it again. A seat shows where a rank's buffers are; a last
// meeting, or a flag to or from the root, keeps a rank from returning while others still use them.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/copy.h"
#include "coll/block/shared.h"
#include "coll/block/steps.h"
#include "coll/block/tile.h"
#include "parallel/jobs.h"

namespace weft::coll {
void Shared::show(const ConstBuffer& buffer, void* result) {
  static_assert(sizeof(Shown) <= inline_max);
  make_room(0);
  new (seat(rank_).payload) Shown{buffer, result};
}

/// The root says which way it is, the others where they want it, and the root when it is there.
void Shared::bcast_direct(const Buffer& buffer, int root) {
  if (rank_ == root) {
    reserve(0);
    publish();
    wake_all();
    for (int i = 1; i < size_; ++i) {
      const int to = (rank_ + i) % size_;
      await(to, 0);
      if (all_agree()) move(Call::bcast, buffer, room_of(to, 0), buffer.bytes());
    }
    finish();
    reserve(0);
    publish();
    wake_all();
  } else {  // has begun, to see the way
    show(buffer);
    publish();
    wake(root);
    finish();
    begin();
    await(root, 0);
  }
  finish();
}

void Shared::move(Call call, const ConstBuffer& from, const Buffer& to, std::int64_t bytes) {
  bytes = std::min({bytes, from.bytes(), to.bytes()});
  const model::Machine& x = choices_.machine;
  if (!from.type->dense || !to.type->dense || !x.streams(footprint(call, size_, bytes)))
    return datatype::copy(from, to, bytes);
  std::byte* const into = datatype::block(to);
  const std::byte* const data = datatype::block(from);
  constexpr auto line = static_cast<std::int64_t>(model::line_bytes);
  const std::int64_t worth = parallel::jobs().worth_between_cores_ns(model::lines_of(bytes));
  parallel::for_parts(bytes, line, worth, [&](std::int64_t at, std::int64_t end) {
    stream_bytes(into + at, data + at, static_cast<std::size_t>(end - at));
  });
  engine_.counters->coll_past_caches += static_cast<std::uint64_t>(bytes);
}

/// Everybody reduces its part of the vector for all, and writes it where it is wanted.
void Shared::reduce_direct(const Operands& x, int root) {
  const std::int64_t size = x.type->size;
  begin();
  show({operand(x), x.count, x.type}, x.recv);
  if (!come_and_agree()) return met();
  const Tile tile(x.count, size, size_, rank_);
  const std::int64_t step = fold_bytes / size;
  alignas(64) std::byte value[fold_bytes];
  for (std::int64_t at = tile.begin; at < tile.end; at += step) {
    const std::int64_t n = std::min(step, tile.end - at);
    fold_part(x, n, value, [&](int i) {
      return static_cast<const std::byte*>(shown(i).buffer.data) + at * size;
    });
    const auto bring = [&](int i) {
      std::memcpy(static_cast<std::byte*>(shown(i).result) + at * size, value,
                  static_cast<std::size_t>(n * size));
    };
    if (root != everybody) bring(root);
    for (int i = 0; i < size_ && root == everybody; ++i) bring((rank_ + i) % size_);
  }
  met();
  meet_again();
}

std::optional<std::byte*> Shared::bring_to_other(const Operands& x, std::int64_t first,
                                                 std::int64_t n, std::int64_t at) {
  const std::int64_t size = x.type->size;
  begin();
  show({x.send, x.count, x.type}, x.recv);
  if (!come_and_agree()) {
    met();
    return {};
  }
  auto* there = static_cast<std::byte*>(shown(1 - rank_).result);
  copy_bytes(there + at * size, static_cast<const std::byte*>(x.send) + first * size,
             static_cast<std::size_t>(n * size));
  met();
  meet_again();
  return there;
}

/// Each folds a part of the vector, for which the other brings its part of the operand to where the
/// result is wanted; and brings the result back. So nobody reads what another one owns.
void Shared::allreduce_of_two(const Operands& x) {
  const std::int64_t size = x.type->size, step = cuts_.strip_max / size;
  const Tile mine(x.count, size, 2, rank_), theirs(x.count, size, 2, 1 - rank_);
  const auto there = bring_to_other(x, theirs.begin, theirs.end - theirs.begin, theirs.begin);
  if (!there) return;
  for (std::int64_t at = mine.begin; at < mine.end; at += step) {
    const std::int64_t n = std::min(step, mine.end - at);
    const auto* own = static_cast<const std::byte*>(x.send) + at * size;
    std::byte* const part = static_cast<std::byte*>(x.recv) + at * size;
    fold(x, n, 2, part, [&](int i) { return i == rank_ ? own : part; });
    copy_bytes(*there + at * size, part, static_cast<std::size_t>(n * size));
  }
  meet_again();
}

void Shared::reduce_scatter_direct(const Operands& x, const Parts& parts) {
  const std::int64_t size = x.type->size, first = parts.before(rank_), count = parts[rank_];
  begin();
  show({x.send, x.count, x.type});
  if (!come_and_agree()) return met();
  const std::int64_t step = fold_bytes / size;
  for (std::int64_t at = 0; at < count; at += step)
    fold_part(x, std::min(step, count - at), static_cast<std::byte*>(x.recv) + at * size,
              [&](int i) {
                return static_cast<const std::byte*>(shown(i).buffer.data) + (first + at) * size;
              });
  met();
  meet_again();
}

/// The same without the way back.
void Shared::reduce_scatter_of_two(const Operands& x, const Parts& parts) {
  if (!bring_to_other(x, parts.before(1 - rank_), parts[1 - rank_], 0)) return;
  const auto* own = static_cast<const std::byte*>(x.send) + parts.before(rank_) * x.type->size;
  auto* result = static_cast<std::byte*>(x.recv);
  fold(x, parts[rank_], 2, result, [&](int i) { return i == rank_ ? own : result; });
}

/// Not all to the same rank at once, and to itself while flags travel.
void Shared::allgather_direct(const ConstBuffer& send, const Blocks& recv) {
  const ConstBuffer own = contribution(send, recv[rank_]);
  begin();
  show(recv[0]);
  arrive();
  if (!is_in_place(send.data)) move(Call::allgather, own, recv[rank_], own.bytes());
  await_all();
  if (!do_all_agree()) return met();
  for (int i = 1; i < size_; ++i)
    move(Call::allgather, own, room_of((rank_ + i) % size_, rank_), own.bytes());
  met();
  meet_again();
}

void Shared::alltoall_direct(const Blocks& send, const Blocks& recv) {
  begin();
  show(recv[0]);
  arrive();
  move(Call::alltoall, send[rank_], recv[rank_], recv[rank_].bytes());
  await_all();
  if (!do_all_agree()) return met();
  for (int i = 1; i < size_; ++i) {
    const int to = (rank_ + i) % size_;
    move(Call::alltoall, send[to], room_of(to, rank_), send[to].bytes());
  }
  met();
  meet_again();
}

void Shared::gather_direct(const ConstBuffer& send, const Blocks& recv, int root) {
  if (rank_ == root) {
    begin();
    show(recv[0]);
    publish();
    wake_all();
    if (!is_in_place(send.data)) datatype::copy(send, recv[rank_], send.bytes());
    for (int i = 0; i < size_; ++i)
      if (i != rank_) await(i, 0);
  } else {
    reserve(0);
    await(root, 0);
    if (all_agree()) move(Call::gather, send, room_of(root, rank_), send.bytes());
    publish();
    wake(root);
  }
  finish();
}

void Shared::scatter_direct(const Blocks& send, const Buffer& recv, int root) {
  if (rank_ == root) {
    reserve(0);
    if (!is_in_place(recv.data)) datatype::copy(send[rank_], recv, recv.bytes());
    for (int i = 1; i < size_; ++i) {
      const int to = (rank_ + i) % size_;
      await(to, 0);
      if (!all_agree()) continue;
      move(Call::scatter, send[to], room_of(to, 0), send[to].bytes());
    }
    publish();
    wake_all();
  } else {
    begin();
    show(recv);
    publish();
    wake(root);
    await(root, 0);
  }
  finish();
}

}  // namespace weft::coll
