// SPDX-License-Identifier: Apache-2.0
//
// Ways that are so close in price that time decides between them: those of one collective that only
// moves data, for one power of two of bytes. In a look they take turns in short series; the fastest
// stays until the next look. How many calls came before says which way a call goes, so all ranks go
// the same way without a word. At the end of a look they tell each other what they measured
// (Shared::decide), and all decide alike.
//
// How often is looked again follows from the times that all have agreed on: looks take less than
// `looks_share` of all calls, and of their time.
//
// Here is neither clock nor communication.
#pragma once

#include <cstdint>
#include <span>

#include "coll/limits.h"

namespace weft::coll {

struct Way;

class Trial {
 public:
  /// At least two, at most `tried_max`; the first is the one that the model takes.
  explicit Trial(std::span<const Way* const> ways);

  /// Before each call. False: a look is over, and decide() comes before the call.
  bool next() {
    if (--left_ >= 0) [[likely]]
      return true;
    return next_series();
  }
  /// That of the call.
  const Way& way() const { return *ways_[now_]; }
  /// Is the call part of a look? Then took() says how long this rank was in it, ns per byte.
  bool looks() const { return looks_; }
  void took(double ns_per_byte);

  std::span<const Way* const> ways() const { return {ways_, static_cast<std::size_t>(count_)}; }
  const Way& taken() const { return *ways_[taken_]; }
  /// What each way took this rank: ns per byte, the fastest series of the look.
  std::span<const double> times() const { return {times_, static_cast<std::size_t>(count_)}; }
  /// With the times of the slowest rank. Has the way changed? Then the call is the first by it.
  bool decide(std::span<const double> times);

 private:
  bool next_series();
  void begin_series();

  const Way* ways_[tried_max];
  const int count_;
  double times_[tried_max];
  double sum_ = 0;                           // of the series
  std::int64_t left_ = calls_before_looks;   // or of the series
  int rounds_ = first_rounds, series_ = -1;  // of the look
  int now_ = 0, taken_ = 0;
  bool looks_ = false;
};

}  // namespace weft::coll
