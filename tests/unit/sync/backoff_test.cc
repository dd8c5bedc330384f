// SPDX-License-Identifier: Apache-2.0
//
// How a waiting thread rests: the choice by declared features, how rests grow, and those that this
// CPU has.
#include "sync/backoff.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"
#include "sync/wait.h"

namespace weft::sync {
namespace {

TEST(Rest, IsChosenByWhatTheCpuHas) {
  EXPECT_EQ(rest_of({}), Rest::pause);
  EXPECT_EQ(rest_of({.waitpkg = true}), Rest::tpause);
  EXPECT_EQ(rest_of({.mwaitx = true}), Rest::mwaitx);
  EXPECT_EQ(rest_of({.waitpkg = true, .mwaitx = true, .threads_per_core = 2}), Rest::tpause);
}

/// Also: that an instruction the CPU has is encoded right.
TEST(Rest, TakesAboutTheTimeAsked) {
  const CpuFeatures cpu = cpu_features();
  EXPECT_GE(cpu.threads_per_core, 1);
  std::vector<Rest> ways{Rest::pause};
  if (cpu.waitpkg) ways.push_back(Rest::tpause);
  if (cpu.mwaitx) ways.push_back(Rest::mwaitx);
  for (const Rest way : ways) {
    constexpr int times = 1000;
    const std::int64_t start = now_ns();
    for (int i = 0; i < times; ++i) rest(way, longest_rest);
    const std::int64_t each = (now_ns() - start) / times;
    EXPECT_GE(each, 100) << name_of(way);  // a clock of 1 to 6 GHz; interrupts may end one
    EXPECT_LE(each, 100'000) << name_of(way);
  }
}

TEST(Backoff, GrowsToItsBoundAndBeginsAnew) {
  Backoff backoff(true, rest_of(cpu_features()));
  std::uint32_t expected = first_rest;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(backoff.cycles(), expected);
    backoff.step();
    expected = std::min(2 * expected, longest_rest);
  }
  EXPECT_EQ(backoff.cycles(), longest_rest);
  backoff.reset();
  EXPECT_EQ(backoff.cycles(), first_rest);
}

TEST(Backoff, OnlyPausesWhereNoSiblingComputes) {
  Backoff backoff(false, Rest::tpause);  // would be an illegal instruction where there is none
  for (int i = 0; i < 100; ++i) backoff.step();
  EXPECT_EQ(backoff.cycles(), first_rest);
}

/// A wait that is kind ends its spinning after about the same time as any other.
TEST(Backoff, SpinsAsLongAsOtherWaits) {
  Policy policy;
  policy.spin_ns = 200'000;
  Neighbours neighbours;
  for (const bool kind : {false, true}) {
    policy.kind = kind;
    Waiter waiter(policy, neighbours);
    const std::int64_t start = now_ns();
    while (!waiter.is_yielding()) waiter.step(Waiter::Spinning::long_);
    const std::int64_t took = now_ns() - start;
    EXPECT_GE(took, policy.spin_ns) << kind;
    EXPECT_LE(took, 500 * policy.spin_ns) << kind;  // a busy machine
  }
}

}  // namespace
}  // namespace weft::sync
