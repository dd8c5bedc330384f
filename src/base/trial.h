// SPDX-License-Identifier: Apache-2.0
//
// Which of two ways of doing the same is faster, by times: where it hangs on how far cores are, on
// what lies in whose cache, and on what the program does between its calls, which no model knows.
// So both are timed, as collectives do it (coll/explore.h): the time of a row of operations is what
// the program takes for its last ones, until the next row begins.
//
// A look is an even number of rows, half of them the other way, which is taken if its two fastest
// rows were faster than those as before: what disturbs some rows decides nothing. The look ends as
// soon as the fastest was not. What comes every so many operations does not meet the rows of one
// way only: their order is that of Thue and Morse. However a look ends, the next one comes after as
// many operations, so two ranks that answer each other look at the same ones, without a word.
//
// Here is no clock but the caller's, and no lock.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace weft {

/// In operations, but for `rows`.
struct TrialPlan {
  int before_look;           // the first one
  int rows;                  // of a look
  int row, counted;          // of a row, and of these the last ones that are timed
  int pause, longest_pause;  // between looks: twice as many each time that one changes nothing
  double faster;             // share of the time that the other way is to take at most
};

template <const TrialPlan& plan>
class Trial {
 public:
  /// Does the next operation, of `bytes`, go the other way? `clock` (ns) is asked in looks only.
  template <class Clock>
  bool next(std::int64_t bytes, Clock&& clock) {
    if (--left_ >= 0) [[likely]]
      return other_taken_;
    if (done_ == plan.row) end_row(clock());
    if (left_ >= 0) return other_taken_;
    // Before, the caches are as the row before has left them.
    if (done_++ == plan.row - plan.counted) {
      began_ns_ = clock();
      bytes_ = 0;
    }
    bytes_ += bytes;
    return is_other() != other_taken_;
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

  /// Does this row go the way that is not taken?
  bool is_other() const { return std::popcount(static_cast<unsigned>(row_)) % 2 == 1; }

  void end_row(std::int64_t now_ns) {
    const double time = static_cast<double>(now_ns - began_ns_) / static_cast<double>(bytes_);
    if (row_ == 0) times_of_taken_ = times_of_other_ = {};
    (is_other() ? times_of_other_ : times_of_taken_).add(time);
    done_ = 0;
    ++row_;
    const auto is_less = [this](double Times::*which) {
      return times_of_other_.*which < plan.faster * times_of_taken_.*which;
    };
    if (row_ == 1 || (row_ < plan.rows && is_less(&Times::least))) return;
    const bool is_faster = row_ == plan.rows && is_less(&Times::least) && is_less(&Times::second);
    if (is_faster) other_taken_ = !other_taken_;
    pause_ = is_faster ? plan.pause : std::min(2 * pause_, plan.longest_pause);
    left_ = pause_ + (plan.rows - row_) * plan.row - 1;
    row_ = 0;
  }

  bool other_taken_ = false;
  int left_ = plan.before_look;  // until a look; less than 0: in one
  int pause_ = plan.pause / 2;
  int row_ = 0, done_ = 0;  // of the look, of the row
  std::int64_t began_ns_ = 0, bytes_ = 0;
  Times times_of_taken_, times_of_other_;
};

/// Of operations on more than `beyond` bytes: one for each power of two up to `most`, where longer
/// ones count as well.
template <const TrialPlan& plan, std::int64_t beyond, std::int64_t most>
struct Trials {
  Trial<plan>& of(std::int64_t bytes) { return lengths[class_of(std::min(bytes, most))]; }
  static constexpr int class_of(std::int64_t bytes) {
    return std::bit_width(static_cast<std::uint64_t>((bytes - 1) / beyond)) - 1;
  }
  Trial<plan> lengths[class_of(most) + 1];
};

}  // namespace weft
