// SPDX-License-Identifier: Apache-2.0
#include "model/loggp.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::model {
namespace {

const Network truth{.latency = 9e-6, .gap = 2e-6, .line = 64e-9};

std::vector<MessageTimes> times_of(const Network& x) {
  std::vector<MessageTimes> out;
  for (std::int64_t bytes = 2048; bytes <= 1 << 20; bytes *= 2)
    out.push_back(
        {bytes, message_seconds(x, built_in(), bytes), message_interval(x, built_in(), bytes)});
  return out;
}

void expect_near(const Network& found, const Network& x, double share) {
  EXPECT_NEAR(found.latency, x.latency, share * x.latency);
  EXPECT_NEAR(found.gap, x.gap, share * x.gap);
  EXPECT_NEAR(found.line, x.line, share * x.line);
}

TEST(LogGP, FindsThePricesThatMadeTheTimes) {
  const auto times = times_of(truth);
  expect_near(fit_network(times, built_in(), 16384), truth, 1e-6);
}

TEST(LogGP, OneDisturbedSizeDoesNotCount) {
  for (std::size_t bad = 0; bad < times_of(truth).size(); ++bad) {
    auto times = times_of(truth);
    times[bad].one_of_many *= 20;
    times[bad].half_round *= 20;
    expect_near(fit_network(times, built_in(), 16384), truth, 0.1);
  }
}

TEST(LogGP, NoPriceIsBelowZero) {
  const MessageTimes strange[] = {{1024, 1e-9, 5e-6}, {4096, 1e-9, 1e-6}, {16384, 1e-9, 1e-7}};
  const Network found = fit_network(strange, built_in(), 16384);
  EXPECT_GT(found.line, 0);
  EXPECT_GE(found.gap, 0);
  EXPECT_EQ(found.latency, 0);
  EXPECT_EQ(fit_network({}, built_in(), 1).gap, 0);
}

}  // namespace
}  // namespace weft::model
