// SPDX-License-Identifier: Apache-2.0
#include "coll/explore.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft::coll {

Trial::Trial(std::span<const Way* const> ways, double price)
    : count_(static_cast<int>(ways.size())),
      series_calls_(static_cast<int>(
          std::clamp<double>(series_seconds / price, least_series_calls, most_series_calls))) {
  std::copy(ways.begin(), ways.end(), ways_);
}

void Trial::ended(std::int64_t now, std::int64_t bytes) {
  if (left_ == series_calls_ - 1) {  // it met what the way before it had left
    began_ = now;
    bytes_ = 0;
  } else {
    bytes_ += bytes;
  }
  ended_ = now;
}

bool Trial::next_series(bool may_look) {
  if (!looks_ && !may_look) {
    left_ = 0;
    return true;
  }
  if (!looks_) {
    in_look_ = count_;
    std::iota(look_, look_ + count_, 0);
    rounds_ = is_first_ ? 2 : 1;
    begin_look();
  } else if (series_ < series_of_look()) {
    const double time = static_cast<double>(ended_ - began_) / static_cast<double>(bytes_);
    if (!is_first_ || series_ >= in_look_) times_[now_] = std::min(times_[now_], time);
    ++series_;
  }
  if (series_ < series_of_look()) {
    begin_series();
    return true;
  }
  left_ = 0;  // if ranks do not agree, they try again in the next call
  return false;
}

void Trial::begin_look() {
  looks_ = true;
  series_ = 0;
  std::fill_n(times_, count_, std::numeric_limits<double>::infinity());
}

/// The second round goes backwards: what comes every few calls (a rank that is late, say) is not to
/// meet the same way in both.
void Trial::begin_series() {
  const int turn = series_ % in_look_;
  now_ = look_[series_ < in_look_ ? turn : in_look_ - 1 - turn];
  left_ = series_calls_ - 1;
}

bool Trial::decide(std::span<const double> times) {
  const auto time_of = [&](int way) { return times[static_cast<std::size_t>(way)]; };
  for (int i = 0; i < in_look_; ++i)
    spent_ += rounds_ * series_calls_ * time_of(is_first_ ? taken_ : look_[i]);
  const int fastest =
      static_cast<int>(std::min_element(times.begin(), times.end()) - times.begin());
  const bool is_faster = time_of(fastest) < faster_to_change * time_of(taken_);
  is_first_ = false;
  if (is_faster && !is_duel_) {
    look_[0] = taken_;
    look_[1] = fastest;
    in_look_ = rounds_ = 2;
    is_duel_ = true;
    begin_look();
    begin_series();
    return false;
  }
  if (is_faster) taken_ = fastest;
  // In calls of the taken way. A clock that stood still makes all alike.
  const double unit = std::max(time_of(taken_), std::numeric_limits<double>::min());
  const double calls = std::max(spent_ / unit, 1.0 * in_look_ * rounds_ * series_calls_) + 2;
  left_ = static_cast<std::int64_t>(std::min(calls / looks_share, longest_pause)) - 1;
  spent_ = 0;
  is_duel_ = false;
  now_ = taken_;
  looks_ = false;
  return is_faster;
}

}  // namespace weft::coll
