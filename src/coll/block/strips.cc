// SPDX-License-Identifier: Apache-2.0
//
// Long collectives between processes: through the shared block, part by part, so that what one rank
// has just written is still in a cache when others read it. What flows one way (bcast, gather,
// scatter, scan) goes in pieces, and who writes may be a window ahead; what everybody needs of
// everybody goes in strips with meetings between them.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "coll/block/shared.h"
#include "coll/block/tile.h"

namespace weft::coll {

// Where pieces are. Each writer's room has two parts. A single piece has one of `places`: operation
// n that with the number n % places, for pieces of this length. Several pieces go through the long
// room, piece behind piece and operation behind operation, and begin anew at its end. Where ranks
// take turns on their CPUs there is no long room, and all pieces have places. All ranks count
// alike.
//
// May a piece be written? All must have finished with its bytes.
// - Places: operation n - places used them last. A writer knows that all have finished operation
//   n - window (reserve_piece), which is newer.
// - Long room, in order: more than `window` pieces lie between two uses of the same bytes. The room
//   holds twice as many of the longest; less than three are lost to its end and to pieces of
//   different lengths. So that is enough.
// - Long room of two ranks: who did not write the newest operation there begins where that one
//   began. There it has itself just read, so the lines are in its cache. It has finished with all
//   that the other one wrote. What it wrote itself before the newest change of writers the other
//   one has finished with: that one read it before it wrote what made the change, and this rank
//   has read that. What it has written since is in order.
std::int64_t Shared::cut_pieces(std::int64_t bytes, int first, int writer, std::int64_t step) {
  first_ = first;
  piece_step_ = step;
  in_places_ = bytes <= step || cuts_.long_room == 0;
  if (in_places_) return step;
  if (size_ == 2 && writer != long_writer_) long_at_ = long_began_;
  if (long_at_ + step > cuts_.long_room) long_at_ = 0;
  long_began_ = long_at_;
  long_writer_ = writer;
  return step;
}

void Shared::place_pieces() {
  if (in_places_) {
    piece_at_ =
        Cuts::places_of(piece_step_) + static_cast<std::int64_t>(now_ % places) * piece_step_;
    return;
  }
  if (long_at_ + piece_step_ > cuts_.long_room) long_at_ = 0;
  piece_at_ = cuts_.all_places() + long_at_;
  long_at_ += piece_step_;
}

void Shared::bcast_pieces(const Buffer& buffer, int root) {
  const auto total = static_cast<std::int64_t>((rank_ == root ? what_ : seat(root).what) >> 8);
  const std::int64_t step = cut_pieces(total, root, root);
  for (std::int64_t at = 0; at < total; at += step) {
    const std::int64_t n = std::min(step, total - at);
    if (rank_ == root) {
      reserve_piece();
      place_pieces();
      datatype::pack(buffer, at, piece(root), n);
      publish();
      wake_all();
    } else {
      if (at > 0) {
        begin();
        await(root, 0);
      }
      place_pieces();
      const std::int64_t room = std::clamp<std::int64_t>(buffer.bytes() - at, 0, n);
      if (room > 0) datatype::unpack(buffer, at, piece(root), room);
    }
    finish();
  }
}

/// Rank i hands on the result of ranks 0 to i.
void Shared::scan_pieces(Call call, const Operands& x) {
  const std::int64_t size = x.type->size;
  const std::int64_t step = cut_pieces(x.count * size, 0, 0, Cuts::smallest) / size;
  const auto* own = static_cast<const std::byte*>(operand(x));
  auto* result = static_cast<std::byte*>(x.recv);
  const bool first = rank_ == 0, last = rank_ == size_ - 1;
  for (std::int64_t at = 0; at < x.count && all_agree(); at += step) {
    const std::int64_t n = std::min(step, x.count - at);
    const auto bytes = static_cast<std::size_t>(n * size);
    last ? begin() : reserve_piece();
    place_pieces();
    if (!first) await(rank_ - 1, 0);
    if (!all_agree()) break;
    const std::byte* before = first ? nullptr : piece(rank_ - 1);
    alignas(64) std::byte value[Cuts::smallest];
    std::memcpy(value, own + at * size, bytes);
    if (!first) datatype::reduce(x.op->operation, x.type->basic, before, value, n);
    if (!last) {
      std::memcpy(piece(rank_), value, bytes);
      publish();
      wake(rank_ + 1);
    }
    const std::byte* wanted = call == Call::scan ? value : before;
    if (wanted != nullptr) std::memcpy(result + at * size, wanted, bytes);
    finish();
  }
}

void Shared::gather_pieces(const ConstBuffer& send, const Blocks& recv, int root,
                           std::int64_t bytes) {
  if (rank_ == root && !is_in_place(send.data)) datatype::copy(send, recv[rank_], bytes);
  const std::int64_t step = cut_pieces(bytes, after(root), after(root));
  for (std::int64_t at = 0; at < bytes && all_agree(); at += step) {
    const std::int64_t n = std::min(step, bytes - at);
    if (rank_ != root) {
      reserve_piece();
      place_pieces();
      datatype::pack(send, at, piece(rank_), n);
      publish();
      wake(root);
    } else {
      begin();
      place_pieces();
      for (int i = 0; i < size_; ++i) {
        if (i == rank_) continue;
        await(i, 0);
        // Pieces of another length lie elsewhere.
        if (all_agree()) datatype::unpack(recv[i], at, piece(i), n);
      }
    }
    finish();
  }
}

/// The root writes each rank's piece to that rank's place: nobody else uses it in this operation.
void Shared::scatter_pieces(const Blocks& send, const Buffer& recv, int root) {
  std::int64_t total = 1;
  if (rank_ == root) {
    total = static_cast<std::int64_t>(what_ >> 8);
    cut_pieces(total, after(root), root);
  }
  for (std::int64_t at = 0, n; at < total; at += n) {
    if (rank_ == root) {
      n = std::min(piece_step_, total - at);
      reserve_piece();
      place_pieces();
      for (int i = 0; i < size_; ++i)
        if (i != rank_) datatype::pack(send[i], at, piece(i), n);
      publish();
      wake_all();
    } else {
      begin();
      await(root, 0);
      if (parted_) return;
      if (at == 0) {
        total = static_cast<std::int64_t>(seat(root).what >> 8);
        cut_pieces(total, after(root), root);
      }
      n = std::min(piece_step_, total - at);
      place_pieces();
      datatype::unpack(recv, at, piece(rank_), n);
    }
    finish();
  }
  if (rank_ == root && !is_in_place(recv.data)) datatype::copy(send[rank_], recv, total);
}

/// The next strip is shown before this one is taken, so that flags travel while ranks copy.
template <class Fill, class Meanwhile, class Take>
void Shared::in_strips(std::int64_t total, std::int64_t step, Fill&& fill, Meanwhile&& meanwhile,
                       Take&& take) {
  const auto show = [&](std::int64_t at) {
    fill(at, std::min(step, total - at));
    reserve(0);
    arrive();
  };
  show(0);
  meanwhile();
  for (std::int64_t at = 0; at < total; at += step) {
    await_all();
    if (!do_all_agree()) return met();
    // Who comes to the first has finished what was before; to another one, the last but one.
    known_ = std::max(known_, now_ - (at == 0 ? 1 : 2));
    ++strips_used_;
    if (at + step < total) show(at + step);
    --strips_used_;  // the one before is taken
    take(at, std::min(step, total - at));
    ++strips_used_;
  }
}

/// A strip holds a part of each block. In place, what a strip overwrites has been staged before.
void Shared::alltoall_strips(const Blocks& send, const Blocks& recv, std::int64_t bytes) {
  const std::int64_t others = size_ - 1;
  const std::int64_t step = cuts_.strip(bytes * others) / others / 64 * 64;
  const auto from_to = [&](int of, int to) { return strip(of) + part(of, to) * step; };
  const bool in_place = send[0].data == recv[0].data;
  in_strips(
      bytes, step,
      [&](std::int64_t at, std::int64_t n) {
        for (int i = 0; i < size_; ++i)
          if (i != rank_) datatype::pack(send[i], at, from_to(rank_, i), n);
      },
      [&] {
        if (!in_place) datatype::copy(send[rank_], recv[rank_], bytes);
      },
      [&](std::int64_t at, std::int64_t n) {
        for (int i = 1; i < size_; ++i) {
          const int from = (rank_ + i) % size_;
          datatype::unpack(recv[from], at, from_to(from, rank_), n);
        }
      });
}

void Shared::allgather_strips(const ConstBuffer& send, const Blocks& recv, std::int64_t bytes) {
  const bool in_place = is_in_place(send.data);
  const ConstBuffer own = contribution(send, recv[rank_]);
  in_strips(
      bytes, cuts_.strip(bytes),
      [&](std::int64_t at, std::int64_t n) { datatype::pack(own, at, strip(rank_), n); },
      [&] {
        // Not from the strip, which is on its way to others.
        if (!in_place) datatype::copy(send, recv[rank_], bytes);
      },
      [&](std::int64_t at, std::int64_t n) {
        for (int i = 1; i < size_; ++i) {
          const int from = (rank_ + i) % size_;
          datatype::unpack(recv[from], at, strip(from), n);
        }
      });
}

/// A strip holds a piece of each rank's part, as far as that goes; everybody folds its own. In
/// place, the result stays behind what is staged next.
void Shared::reduce_scatter_strips(const Operands& x, const Parts& parts) {
  const std::int64_t size = x.type->size, total = parts.before(size_) * size;
  const std::int64_t step = cuts_.strip(total) / size_ / 64 * 64 / size;
  const auto* own = static_cast<const std::byte*>(operand(x));
  auto* result = static_cast<std::byte*>(x.recv);
  const bool in_place = is_in_place(x.send);  // the result may overwrite the own part
  const auto length = [&](int i, std::int64_t at) {
    return std::clamp<std::int64_t>(parts[i] - at, 0, step);
  };
  const std::int64_t own_begin = parts.before(rank_);
  std::int64_t longest = 0;
  for (int i = 0; i < size_; ++i) longest = std::max(longest, parts[i]);
  in_strips(
      longest, step,
      [&](std::int64_t at, std::int64_t) {
        for (std::int64_t i = 0, begin = 0; i < size_; begin += parts[static_cast<int>(i++)])
          if (i != rank_ || in_place)
            copy_bytes(strip(rank_) + i * step * size, own + (begin + at) * size,
                       static_cast<std::size_t>(length(static_cast<int>(i), at) * size));
      },
      [] {},
      [&](std::int64_t at, std::int64_t) {
        const std::int64_t n = length(rank_, at);
        if (n == 0) return;
        fold_part(x, n, result + at * size, [&](int i) -> const std::byte* {
          return i == rank_ && !in_place ? own + (own_begin + at) * size
                                         : strip(i) + rank_ * step * size;
        });
      });
}

/// Between two ranks: each folds all, which reads as much of the other as folding a half and
/// fetching the other half, and nothing has to be written twice.
void Shared::allreduce_strips(const Operands& x) {
  if (size_ != 2) return reduce_strips(x, everybody);
  const std::int64_t size = x.type->size;
  const auto* own = static_cast<const std::byte*>(operand(x));
  auto* result = static_cast<std::byte*>(x.recv);
  in_strips(
      x.count * size, cuts_.strip(x.count * size) / size * size,
      [&](std::int64_t at, std::int64_t n) {
        copy_bytes(strip(rank_), own + at, static_cast<std::size_t>(n));
      },
      [] {},
      [&](std::int64_t at, std::int64_t n) {
        fold(x, n / size, 2, result + at, [&](int i) { return i == rank_ ? own + at : strip(i); });
      });
}

/// The root folds all. In place its operand goes aside, where the result does not overwrite it.
void Shared::reduce_pieces(const Operands& x, int root) {
  const std::int64_t size = x.type->size;
  const std::int64_t step = cut_pieces(x.count * size, after(root), after(root)) / size;
  const auto* own = static_cast<const std::byte*>(operand(x));
  auto* result = static_cast<std::byte*>(x.recv);
  const std::int64_t part = is_in_place(x.send) ? fold_bytes / size : step;
  alignas(64) std::byte aside[fold_bytes];
  for (std::int64_t at = 0; at < x.count && all_agree(); at += step) {
    const std::int64_t n = std::min(step, x.count - at);
    rank_ == root ? begin() : reserve_piece();
    place_pieces();
    if (rank_ != root) {
      copy_bytes(piece(rank_), own + at * size, static_cast<std::size_t>(n * size));
      publish();
      wake(root);
    } else {
      for (std::int64_t k = 0; k < n && all_agree(); k += part) {
        const std::int64_t m = std::min(part, n - k);
        const std::byte* mine = own + (at + k) * size;
        if (is_in_place(x.send)) {
          std::memcpy(aside, mine, static_cast<std::size_t>(m * size));
          mine = aside;
        }
        fold(x, m, size_, result + (at + k) * size, [&](int i) -> const std::byte* {
          if (i != rank_) await(i, 0);
          return i == rank_ || !all_agree() ? mine : piece(i) + k * size;
        });
      }
    }
    finish();
  }
}

/// Of each strip everybody reduces a part; then all collect the parts, or the root does. To the
/// meeting behind the parts all come with the next strip.
void Shared::reduce_strips(const Operands& x, int root) {
  const std::int64_t size = x.type->size;
  const auto* own = static_cast<const std::byte*>(operand(x));
  auto* result = static_cast<std::byte*>(x.recv);
  const std::int64_t step = cuts_.strip_max / size;
  const bool wanted = root == everybody || root == rank_;
  const auto fill = [&](std::int64_t at) {
    const std::int64_t n = std::min(step, x.count - at);
    const Tile mine(n, size, size_, rank_);  // is for nobody else
    copy_bytes(strip(rank_), own + at * size, static_cast<std::size_t>(mine.begin * size));
    copy_bytes(strip(rank_) + mine.end * size, own + (at + mine.end) * size,
               static_cast<std::size_t>((n - mine.end) * size));
  };
  fill(0);
  if (!meet_and_agree()) return;
  for (std::int64_t at = 0; at < x.count; at += step) {
    const std::int64_t n = std::min(step, x.count - at);
    const Tile mine(n, size, size_, rank_);
    alignas(64) std::byte value[fold_bytes];
    for (std::int64_t k = mine.begin; k < mine.end; k += fold_bytes / size) {
      const std::int64_t m = std::min(fold_bytes / size, mine.end - k);
      fold_part(x, m, value, [&](int i) -> const std::byte* {
        return i == rank_ ? own + (at + k) * size : strip(i) + k * size;
      });
      const auto bytes = static_cast<std::size_t>(m * size);
      if (root != rank_) std::memcpy(strip(rank_) + k * size, value, bytes);
      if (wanted) std::memcpy(result + (at + k) * size, value, bytes);
    }
    ++strips_used_;
    if (at + step < x.count) fill(at + step);
    --strips_used_;
    meet_again();
    if (!all_agree()) return;
    for (int k = 1; k < size_ && wanted; ++k) {
      const int i = (rank_ + k) % size_;
      const Tile part(n, size, size_, i);
      copy_bytes(result + (at + part.begin) * size, strip(i) + part.begin * size,
                 static_cast<std::size_t>((part.end - part.begin) * size));
    }
    ++strips_used_;
  }
}

}  // namespace weft::coll
