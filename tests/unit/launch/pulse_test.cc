// SPDX-License-Identifier: Apache-2.0
#include "launch/pulse.h"

#include <gtest/gtest.h>

namespace weft::launch {
namespace {

using Clock = Pulse::Clock;

TEST(Pulse, is_never_due_before_it_begins) {
  EXPECT_FALSE(Pulse().is_due(Clock::now() + std::chrono::hours(1)));
}

TEST(Pulse, bears_six_silent_turns) {
  Pulse pulse;
  Clock::time_point now{};
  pulse.begin(now);
  for (int i = 0; i < Pulse::most_silent_turns; ++i) {
    EXPECT_FALSE(pulse.is_due(now += Pulse::turn / 2));
    EXPECT_TRUE(pulse.is_due(now += Pulse::turn / 2));
    EXPECT_TRUE(pulse.take_turn(now));
  }
  EXPECT_FALSE(pulse.take_turn(now += Pulse::turn));
  EXPECT_LE(now, Clock::time_point{} + std::chrono::milliseconds(3500));
}

TEST(Pulse, turns_are_counted_from_seconds) {
  EXPECT_EQ(Pulse::turns_in(3), Pulse::most_silent_turns);
}

TEST(Pulse, begins_anew_when_something_is_heard) {
  Pulse pulse;
  Clock::time_point now{};
  pulse.begin(now);
  for (int i = 0; i < 100; ++i) {
    pulse.heard();
    EXPECT_TRUE(pulse.take_turn(now += Pulse::turn));
  }
}

TEST(Pulse, counts_a_stop_as_one_turn) {
  Pulse pulse;
  Clock::time_point now{};
  pulse.begin(now);
  now += std::chrono::hours(1);
  EXPECT_TRUE(pulse.take_turn(now));
  EXPECT_FALSE(pulse.is_due(now + Pulse::turn / 2));
}

}  // namespace
}  // namespace weft::launch
