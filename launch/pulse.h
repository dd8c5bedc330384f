// SPDX-License-Identifier: Apache-2.0
//
// Is the other side of a channel still there? A host that is switched off, or whose link is gone,
// ends no connection. So both sides say something twice a second, and who hears nothing for 3 s
// (--host-timeout) is alone. It counts turns, not time: who was stopped meanwhile has had one turn
// at most.
#pragma once

#include <chrono>

namespace weft::launch {

class Pulse {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds turn{500};
  static constexpr int most_silent_turns = 6;
  static constexpr int turns_in(int seconds) { return seconds * (std::chrono::seconds{1} / turn); }

  void begin(Clock::time_point now) { next_ = now + turn; }
  /// Something came.
  void heard() { silent_turns_ = 0; }
  Clock::time_point next() const { return next_; }
  bool is_due(Clock::time_point now) const { return now >= next_; }
  /// When it is due. False: the other side has been silent for too long; else it is to be told that
  /// we are here.
  bool take_turn(Clock::time_point now, int most = most_silent_turns) {
    next_ = now + turn;
    return silent_turns_++ < most;
  }

 private:
  Clock::time_point next_ = Clock::time_point::max();
  int silent_turns_ = 0;
};

}  // namespace weft::launch
