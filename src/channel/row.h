// SPDX-License-Identifier: Apache-2.0
//
// A row: the buffers between one sender and one receiver of a channel, in memory that both share.
// One thread at a time at each end; so no atomic read-modify-write anywhere.
//
// A message lies at the start of a buffer, its number (1, 2, ...) in the last eight bytes of the
// buffer's last line: up to 56 bytes and their number are one line, and move as one. Buffers are
// used in turn and never cleared: buffer (n - 1) % buffers holds message n once it says so.
//
//   sender    writes a buffer, then its number (release)
//   receiver  looks at the next number only; reads the buffer where it is; says `received` when it
//             has taken the message, `released` when it does not need the buffer any more
//
// The sender may write message n when n - released <= buffers; it may go on when n - received <= k
// (the asynchrony degree). It reads the receiver's line only when what it knew of it is used up.
// There are k + 1 buffers: k for messages that nobody has received, one for the message that the
// receiver holds (Buono et al. have k and copy when one is free, §IV.A). tests/model/channel.pml
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/copy.h"

namespace weft::channel {

/// What both ends of a row know of each other; zero at the start. The buffers follow.
struct RowWords {
  // line 0: both, once. Read at every message, so it stays in both caches.
  alignas(64) std::atomic<std::uint32_t> closed;  // sender: no more messages (release)
  std::atomic<std::uint32_t> gone;                // receiver: it will receive no more (release)
  std::atomic<std::uint64_t>
      couriers;  // sender: offset of a word to ring at for room, too; 0: none
  // line 1: the receiver
  alignas(64) std::atomic<std::uint64_t> received;  // release; pairs with Sending::accepts
  std::atomic<std::uint64_t> released;              // release; pairs with Sending::has_room
};
static_assert(sizeof(RowWords) == 128);

/// How a channel's rows are laid out.
struct RowShape {
  std::int64_t bytes = 0;    // of a message
  std::int64_t stride = 0;   // of a buffer, whole lines
  std::int64_t buffers = 0;  // asynchrony degree + 1

  RowShape(std::int64_t message_bytes, std::int64_t asynchrony)
      : bytes(message_bytes),
        stride((message_bytes + number_bytes + 63) / 64 * 64),
        buffers(asynchrony + 1) {}
  std::int64_t row_bytes() const {
    return static_cast<std::int64_t>(sizeof(RowWords)) + stride * buffers;
  }
  static constexpr std::int64_t number_bytes = sizeof(std::uint64_t);
};

/// What both ends have: where the buffers are, and which is next.
class RowEnd {
 public:
  RowEnd(std::byte* row, const RowShape& shape)
      : words_(reinterpret_cast<RowWords*>(row)),
        first_(row + sizeof(RowWords)),
        end_(first_ + shape.stride * shape.buffers),
        stride_(shape.stride),
        buffers_(static_cast<std::uint64_t>(shape.buffers)) {}
  RowWords& words() const { return *words_; }
  std::uint64_t buffers() const { return buffers_; }

 protected:
  std::atomic<std::uint64_t>& number(std::byte* buffer) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(buffer + stride_ -
                                                          RowShape::number_bytes);
  }
  std::byte* after(std::byte* buffer) const {
    buffer += stride_;
    return buffer == end_ ? first_ : buffer;
  }

  RowWords* words_;
  std::byte *first_, *end_;
  std::int64_t stride_;
  std::uint64_t buffers_;
};

/// The sender's end.
class Sending : public RowEnd {
 public:
  Sending(std::byte* row, const RowShape& shape) : RowEnd(row, shape), next_(first_) {}

  /// May the next message be written? Then at buffer().
  bool has_room() {
    if (sent_ - released_ < buffers_) [[likely]]
      return true;
    look();
    return sent_ - released_ < buffers_;
  }
  std::byte* buffer() const { return next_; }
  /// What is in buffer() is a message.
  void publish() {
    number(next_).store(++sent_, std::memory_order_release);  // pairs with Receiving::has_message
    next_ = after(next_);
  }
  /// Are no more than `more` messages waiting to be received?
  bool accepts(std::uint64_t more) {
    if (sent_ - received_ <= more) [[likely]]
      return true;
    look();
    return sent_ - received_ <= more;
  }
  /// The next message will be built in place soon: take its lines out of the receiver's cache
  /// meanwhile, if they are free. Else the program's stores wait for them: a round trip of 4 KiB
  /// takes 1.3 to 1.4 times as long (2-core EPYC, 2026-11). A copy is faster without: memcpy needs
  /// no old data.
  void fetch_ahead() const {
    if (sent_ - released_ >= buffers_) return;
    const std::int64_t n = stride_ < most_ahead ? stride_ : most_ahead;
    for (std::int64_t at = 0; at < n; at += 64) fetch_to_write(next_ + at);
  }
  std::uint64_t sent() const { return sent_; }
  /// acquire: pairs with Receiving::leave
  bool is_deserted() const { return words_->gone.load(std::memory_order_acquire) != 0; }
  /// After the last message.
  void close() { words_->closed.store(1, std::memory_order_release); }

 private:
  static constexpr std::int64_t most_ahead = 64 * 66;
  void look() {
    // acquire: a synchronous send returns after all that the receiver did before it received
    received_ = words_->received.load(std::memory_order_acquire);
    // acquire: the receiver's reads of the buffer come before; pairs with Receiving::release
    released_ = words_->released.load(std::memory_order_acquire);
  }

  std::byte* next_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0, released_ = 0;  // as last seen
};

/// The receiver's end.
class Receiving : public RowEnd {
 public:
  Receiving(std::byte* row, const RowShape& shape)
      : RowEnd(row, shape), next_(first_), oldest_(first_), is_short_(shape.stride <= 2 * 64) {}

  bool has_message() const {
    // acquire: pairs with Sending::publish
    if (number(next_).load(std::memory_order_acquire) == received_ + 1) return true;
    if (is_short_) __builtin_prefetch(next_);  // the first of two lines comes with the second
    return false;
  }
  /// The message, until it is released.
  std::byte* take() {
    std::byte* message = next_;
    next_ = after(next_);
    words_->received.store(++received_, std::memory_order_release);  // pairs with Sending::accepts
    return message;
  }
  /// The one that was taken first and is not released; only if holds() > 0.
  std::byte* oldest() const { return oldest_; }
  void release() {
    oldest_ = after(oldest_);
    words_->released.store(++released_, std::memory_order_release);  // pairs with has_room
  }
  std::uint64_t holds() const { return received_ - released_; }
  std::uint64_t received() const { return received_; }
  bool contains(const void* p) const { return p >= first_ && p < end_; }
  /// The sender has closed it and everything is received.
  bool is_over() const {
    // acquire: what it sent before is seen by the look that follows; pairs with close()
    return words_->closed.load(std::memory_order_acquire) != 0 && !has_message();
  }
  void leave() { words_->gone.store(1, std::memory_order_release); }

 private:
  std::byte *next_, *oldest_;
  std::uint64_t received_ = 0, released_ = 0;
  bool is_short_;
};

}  // namespace weft::channel
