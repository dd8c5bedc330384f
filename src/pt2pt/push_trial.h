// SPDX-License-Identifier: Apache-2.0
//
// Are messages of blocking sends faster pushed, or offered and copied once, between threads of a
// process? A push takes a second copy, but leaves the program's buffers in the caches of their own
// cores; of a single copy each line moves that one side has written and the other one has read, and
// comes back when it is written again. What that takes depends on how far the cores are, and on
// what the program does with its buffers between the calls. So both ways are timed, as collectives
// do it (coll/explore.h): the time of a row of messages is what the program takes for its last
// ones, until the next row begins.
//
// A look is eight rows, half of them the other way, which is taken if its two fastest rows were
// faster than those as before: what disturbs some rows decides nothing. The look ends as soon as
// the fastest was not. What comes every so many messages does not meet the rows of one way only:
// their order is that of Thue and Morse. However a look ends, the
// next one comes after as many messages, so two ranks that answer each other look at the same ones,
// without a word.
//
// Here is no clock but the caller's. Guarded by the context's lock.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "pt2pt/limits.h"

namespace weft::pt2pt {

class PushTrial {
 public:
  enum Way : int { offered, pushed };

  /// Of the next message; `clock` (ns) is asked in looks only.
  template <class Clock>
  Way next(std::int64_t bytes, Clock&& clock) {
    if (--left_ >= 0) [[likely]]
      return taken_;
    if (sent_ == row_messages) end_row(clock());
    if (left_ >= 0) return taken_;
    // Before, buffers and fragments are where the row before has left them.
    if (sent_++ == row_messages - counted_messages) {
      began_ns_ = clock();
      bytes_ = 0;
    }
    bytes_ += bytes;
    return way();
  }

 private:
  /// The two least of some rows, ns per byte.
  struct Times {
    double least = std::numeric_limits<double>::infinity(), second = least;
    void add(double time) {
      second = std::min(second, std::max(least, time));
      least = std::min(least, time);
    }
  };

  bool is_other() const { return std::popcount(static_cast<unsigned>(row_)) % 2 == 1; }
  Way other() const { return taken_ == offered ? pushed : offered; }
  Way way() const { return is_other() ? other() : taken_; }

  void end_row(std::int64_t now_ns) {
    const double time = static_cast<double>(now_ns - began_ns_) / static_cast<double>(bytes_);
    if (row_ == 0) times_of_taken_ = times_of_other_ = {};
    (is_other() ? times_of_other_ : times_of_taken_).add(time);
    sent_ = 0;
    ++row_;
    const auto is_less = [this](double Times::*which) {
      return times_of_other_.*which < faster_way * times_of_taken_.*which;
    };
    if (row_ == 1 || (row_ < look_rows && is_less(&Times::least))) return;
    const bool is_faster = row_ == look_rows && is_less(&Times::least) && is_less(&Times::second);
    if (is_faster) taken_ = other();
    pause_ = is_faster ? first_pause : std::min(2 * pause_, longest_pause);
    left_ = pause_ + (look_rows - row_) * row_messages - 1;
    row_ = 0;
  }

  Way taken_ = offered;
  int left_ = messages_before_look;  // until a look; less than 0: in one
  int pause_ = first_pause / 2;      // messages between looks
  int row_ = 0, sent_ = 0;           // of the look, of the row
  std::int64_t began_ns_ = 0, bytes_ = 0;
  Times times_of_taken_, times_of_other_;
};

/// Of the messages to one peer that are longer than eager_in_process: one for each power of two.
struct PushTrials {
  PushTrial& of(std::int64_t bytes) {
    return lengths[std::bit_width(static_cast<std::uint64_t>((bytes - 1) / eager_in_process)) - 1];
  }
  PushTrial
      lengths[std::bit_width(static_cast<std::uint64_t>(pushed_in_process / eager_in_process - 1))];
};

}  // namespace weft::pt2pt
