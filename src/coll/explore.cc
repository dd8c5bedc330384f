// SPDX-License-Identifier: Apache-2.0
#include "coll/explore.h"

#include <algorithm>
#include <limits>

namespace weft::coll {

Trial::Trial(std::span<const Way* const> ways) : count_(static_cast<int>(ways.size())) {
  std::copy(ways.begin(), ways.end(), ways_);
}

void Trial::took(double ns_per_byte) {
  // The first call of a series meets what the way before it has left.
  if (left_ < series_calls - 1) sum_ += ns_per_byte / (series_calls - 1);
}

bool Trial::next_series() {
  if (!looks_) {
    looks_ = true;
    series_ = 0;
    std::fill_n(times_, count_, std::numeric_limits<double>::infinity());
  } else if (series_ < rounds_ * count_) {
    times_[now_] = std::min(times_[now_], sum_);
    ++series_;
  }
  if (series_ < rounds_ * count_) {
    begin_series();
    return true;
  }
  left_ = 0;  // if ranks do not agree, they try again in the next call
  return false;
}

/// Each second round goes backwards: what comes every few calls (a rank that is late, say) is not
/// to meet the same way each time.
void Trial::begin_series() {
  const int round = series_ / count_, turn = series_ % count_;
  now_ = round % 2 == 0 ? turn : count_ - 1 - turn;
  left_ = series_calls - 1;
  sum_ = 0;
}

bool Trial::decide(std::span<const double> times) {
  const int before = taken_;
  const auto fastest = std::min_element(times.begin(), times.end());
  const double of_taken = times[static_cast<std::size_t>(taken_)];
  if (*fastest < faster_to_change * of_taken) taken_ = static_cast<int>(fastest - times.begin());
  // The next look in calls of the taken way. A clock that stood still makes all alike.
  const double unit =
      std::max(times[static_cast<std::size_t>(taken_)], std::numeric_limits<double>::min());
  double look = 1;
  for (const double time : times) look += later_rounds * series_calls * std::max(time / unit, 1.0);
  left_ = static_cast<std::int64_t>(std::min(look / looks_share, longest_pause)) - 1;
  rounds_ = later_rounds;
  now_ = taken_;
  looks_ = false;
  return taken_ != before;
}

}  // namespace weft::coll
