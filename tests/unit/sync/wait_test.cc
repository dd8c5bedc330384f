// SPDX-License-Identifier: Apache-2.0
#include "sync/wait.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <thread>

#include "sync/limits.h"

namespace {

using namespace weft;
using namespace weft::sync;

/// Yields until it is time to sleep.
std::uint64_t yields_of_a_wait(const Policy& policy, Neighbours& neighbours) {
  Waiter waiter(policy, neighbours);
  while (waiter.step(Waiter::Spinning::not_at_all) != Waiter::Next::may_park) continue;
  return waiter.yields();
}

Policy yielding_for(std::int64_t ns) {
  Policy policy;
  policy.yield_ns = ns;
  return policy;
}

/// A thread on one CPU, that all threads it starts share.
template <class Body>
void on_one_cpu(Body&& body) {
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    body();
  }).join();
}

TEST(Waiter, YieldsWhereNobodyComputes) {
  Neighbours neighbours;
  const Policy policy = yielding_for(1'000'000'000);
  Waiter waiter(policy, neighbours);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(waiter.step(Waiter::Spinning::not_at_all), Waiter::Next::look_again);
  EXPECT_EQ(waiter.yields(), 100u);
}

TEST(Waiter, SleepsInsteadOfYieldingWhereOthersCompute) {
  on_one_cpu([] {
    std::atomic<bool> computes{true};
    std::thread other([&] {
      while (computes.load(std::memory_order_relaxed)) continue;
    });
    Neighbours neighbours;
    // No slice is so short; and so long is no wait in which nobody computes.
    const Policy policy = yielding_for(20'000);
    while (!neighbours.compute(now_ns())) yields_of_a_wait(policy, neighbours);
    EXPECT_EQ(yields_of_a_wait(policy, neighbours), 0u);
    Waiter cannot_sleep(policy, neighbours);
    for (int i = 0; i < 10; ++i) cannot_sleep.step(Waiter::Spinning::not_at_all);
    EXPECT_GE(cannot_sleep.yields(), 5u);
    computes.store(false, std::memory_order_relaxed);
    other.join();
  });
}

TEST(Waiter, GoesOnYieldingWhereARankOfTheJobHasComputed) {
  on_one_cpu([] {
    std::atomic<bool> computes{true};
    std::thread other([&] {
      while (computes.load(std::memory_order_relaxed)) continue;
    });
    WaitTimes times[2]{};
    auto& [own, others] = times;
    others.begin(1);
    others.end(2);  // since then it computes
    Neighbours neighbours;
    neighbours.open(own, {times, sizeof own, 2});
    const Policy policy = yielding_for(20'000);
    int slices = 0;
    for (int i = 0; i < 20; ++i) {
      Waiter waiter(policy, neighbours);
      waiter.step(Waiter::Spinning::not_at_all);
      EXPECT_EQ(waiter.yields(), 1u) << i;
      EXPECT_NE(own.since_ns.load(), 0);
      waiter.step(Waiter::Spinning::not_at_all);
      slices += waiter.yields() == 1;  // after one this wait sleeps
    }
    EXPECT_GT(slices, 0);
    EXPECT_FALSE(neighbours.compute(now_ns()));
    EXPECT_EQ(own.since_ns.load(), 0);
    others.begin(1);  // it waits: somebody else computes
    while (!neighbours.compute(now_ns())) yields_of_a_wait(policy, neighbours);
    computes.store(false, std::memory_order_relaxed);
    other.join();
  });
}

/// A wait that yields its time out, sleeps, and is woken by news after so long.
void wait_and_sleep(const Policy& policy, Neighbours& neighbours, std::int64_t ns) {
  ParkWord word{0};
  Waiter waiter(policy, neighbours);
  while (waiter.step(Waiter::Spinning::not_at_all) != Waiter::Next::may_park) continue;
  waiter.announce(word);
  std::thread news([&word, ns] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
    word.store(0, std::memory_order_relaxed);
    wake_all(word);
  });
  while (word.load(std::memory_order_relaxed) != 0) waiter.sleep(word);
  news.join();
}

TEST(Waiter, YieldsLessAfterLongWaits) {
  // A yield of less than 8 ms is no sign that somebody computes, as on a busy machine many would
  // be.
  Policy policy = yielding_for(4'000'000);
  policy.membarrier = permit_fences();
  if (!policy.membarrier) GTEST_SKIP() << "no membarrier: all sleeps end by time";
  policy.longest_yield_ns = 16'000'000;
  Neighbours neighbours;
  // Where this thread is late, news finds nobody asleep.
  while (neighbours.yields_for(policy) == 16'000'000) wait_and_sleep(policy, neighbours, 1'000'000);
  EXPECT_EQ(neighbours.yields_for(policy), 8'000'000);
}

TEST(Waiter, YieldsLessAfterASleepThatEndedForLittle) {
  Policy policy = yielding_for(4'000'000);
  policy.longest_yield_ns = 100'000'000'000;
  Neighbours neighbours;
  Waiter waiter(policy, neighbours);
  ParkWord word{0};  // so that it does not wait
  waiter.sleep(word);
  waiter.found();
  const std::int64_t begun = now_ns();
  while (waiter.step(Waiter::Spinning::not_at_all) != Waiter::Next::may_park)
    ASSERT_LT(now_ns() - begun, 10'000'000'000);
}

TEST(Neighbours, YieldLongWhereWaitsAreShort) {
  Policy policy = yielding_for(1000);
  policy.longest_yield_ns = 5000;
  Neighbours neighbours;
  EXPECT_EQ(neighbours.yields_for(policy), 5000);
  for (const std::int64_t ns : {2500, 1250, 1000, 1000, 1000, 1000}) {
    neighbours.note_wait(policy, 5000);
    EXPECT_EQ(neighbours.yields_for(policy), ns);
  }
  for (const std::int64_t ns : {1000, 1250, 2500, 5000, 5000}) {
    neighbours.note_wait(policy, 4999);
    EXPECT_EQ(neighbours.yields_for(policy), ns);
  }
  policy.yield_ns = policy.longest_yield_ns = 1000;  // as it was set
  neighbours.note_wait(policy, 1);
  EXPECT_EQ(neighbours.yields_for(policy), 1000);
}

TEST(Neighbours, AreStrangersWhereNoRankHasComputed) {
  WaitTimes times[3]{};
  auto& [own, first, second] = times;
  Neighbours neighbours;
  EXPECT_TRUE(neighbours.is_strangers(1000, 9000));  // each rank has a core
  neighbours.open(own, {times, sizeof own, 3});
  neighbours.begin(1000);
  EXPECT_TRUE(neighbours.is_strangers(1000, 9000));  // nobody else has ever waited
  first.begin(1000);
  second.end(800);
  EXPECT_FALSE(neighbours.is_strangers(1000, 9000));
  second.begin(900);
  EXPECT_TRUE(neighbours.is_strangers(1000, 9000));
  second.end(8000);  // it has, until now
  EXPECT_FALSE(neighbours.is_strangers(1000, 9000));
  EXPECT_TRUE(neighbours.is_strangers(1000, 8998));
  second.begin(8999);  // from wait to wait
  EXPECT_TRUE(neighbours.is_strangers(1000, 9000));
  second.begin(9000);  // it came from computing
  EXPECT_FALSE(neighbours.is_strangers(1000, 9000));
}

TEST(Neighbours, AreForgotten) {
  Neighbours neighbours;
  EXPECT_FALSE(neighbours.compute(0));
  std::int64_t now = 0, span = first_neighbour_ns;
  for (int slices = 0; slices < 10; ++slices) {
    neighbours.note_slice(now);
    EXPECT_TRUE(neighbours.compute(now + span - 1));
    EXPECT_FALSE(neighbours.compute(now + span));
    now += span;
    span = std::min(2 * span, longest_neighbour_ns);
  }
  neighbours.note_none();
  neighbours.note_slice(now);
  EXPECT_FALSE(neighbours.compute(now + first_neighbour_ns));
}

/// The kernel may leave a CPU out when a fence is asked for: then nobody wakes.
TEST(Waiter, ASleepEndsThoughNobodyWakes) {
  Policy policy;
  policy.membarrier = true;
  Neighbours neighbours;
  Waiter waiter(policy, neighbours);
  ParkWord word{0};
  waiter.announce(word);
  waiter.sleep(word);
  EXPECT_EQ(waiter.parks(), 1U);
  EXPECT_EQ(guarded_ns(policy, 0), longest_sleep_us * 1000);
  EXPECT_EQ(guarded_ns(policy, 5000), 5000);
  policy.membarrier = false;
  EXPECT_EQ(guarded_ns(policy, 0), blind_sleep_us * 1000);
}

}  // namespace
