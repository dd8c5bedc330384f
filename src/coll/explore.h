// SPDX-License-Identifier: Apache-2.0
//
// Ways that are so close in price that time decides between them: those of one collective with the
// same result to the bit, for one power of two of bytes. In a look they take turns in short series.
// One that is faster than the way taken so far runs against it once more, in both orders, and is
// taken if it still is. In the first look all run twice, and only the second time counts: a way has
// memory to touch first.
//
// A series takes as long as the program takes for it, with all that it does between its calls. So
// what a way leaves behind counts, lines in caches of other cores, and who runs while this rank
// does not; and a difference that does not show in the whole changes nothing.
//
// How many calls came before says which way a call goes, so all ranks go the same way without a
// word. At the end of a look they tell each other what they measured (Shared::decide), and all
// decide alike. How soon the next look comes follows from the times that they have agreed on: looks
// take less than 1 % of all calls, and of their time.
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
  /// At least two, at most `tried_max`; the first is the one that the model takes, for `price` (s).
  Trial(std::span<const Way* const> ways, double price);

  /// Before each call; `may_look`: may a look begin? False: a look is over, and decide() comes
  /// before the call.
  bool next(bool may_look) {
    if (--left_ >= 0) [[likely]]
      return true;
    return next_series(may_look);
  }
  /// That of the call.
  const Way& way() const { return *ways_[now_]; }
  /// Is the call part of a look? Then ended() says when it is over (ns).
  bool looks() const { return looks_; }
  void ended(std::int64_t now, std::int64_t bytes);

  std::span<const Way* const> ways() const { return {ways_, static_cast<std::size_t>(count_)}; }
  const Way& taken() const { return *ways_[taken_]; }
  /// What each way took this rank in the look: ns per byte, its fastest series.
  std::span<const double> times() const { return {times_, static_cast<std::size_t>(count_)}; }
  /// With the times of the slowest rank. Has the way changed?
  bool decide(std::span<const double> times);

 private:
  bool next_series(bool may_look);
  void begin_look();
  void begin_series();
  int series_of_look() const { return rounds_ * in_look_; }

  const Way* ways_[tried_max];
  const int count_;
  const int series_calls_;
  double times_[tried_max];
  int look_[tried_max] = {}, in_look_ = 0;  // ways that take part
  int rounds_ = 0, series_ = 0;             // of the look
  bool is_first_ = true, is_duel_ = false;
  double spent_ = 0;                    // on looks since the last pause, ns per byte
  std::int64_t began_ = 0, ended_ = 0;  // of the series: ns
  std::int64_t bytes_ = 0;
  std::int64_t left_ = calls_before_looks;  // calls until the next look, or of the series
  int now_ = 0, taken_ = 0;
  bool looks_ = false;
};

}  // namespace weft::coll
