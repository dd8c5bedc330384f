// SPDX-License-Identifier: Apache-2.0
//
// All locks: one thread at a time, nobody lost with more threads than CPUs; and what each promises:
// order of arrival, priorities, a bound on being passed.
#include "sync/locks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "sync/biased_locks.h"
#include "sync/lock.h"

namespace weft::sync {
namespace {

constexpr LockKind all_kinds[] = {LockKind::mtx,   LockKind::ticket, LockKind::clh, LockKind::pclh,
                                  LockKind::clhub, LockKind::hclhub, LockKind::park};
constexpr const char* names[] = {"mtx", "ticket", "clh", "pclh", "clhub", "hclhub", "park"};

thread_local int domain_of_thread = 0;
int test_domain() {
  return domain_of_thread;
}

LockSettings settings(std::uint32_t bias = 0) {
  return {.patience = 20, .bias = bias, .domains = 4, .domain = test_domain};
}

void wait_for(auto&& condition) {
  while (!condition()) std::this_thread::yield();
}

class EveryLock : public testing::TestWithParam<LockKind> {};

/// `threads` threads, each `rounds` critical sections of both priorities.
void hammer(Lock& lock, int threads, int rounds) {
  long counter = 0, shadow = 0;
  bool inside = false;
  int violations = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      domain_of_thread = t % 4;
      for (int i = 0; i < rounds; ++i) {
        if (i % 7 == 3) {
          wait_for([&] { return lock.try_acquire(); });
        } else if ((i + t) % 3 == 0) {
          lock.acquire_low();
        } else {
          lock.acquire();
        }
        if (inside || counter != shadow) ++violations;
        inside = true;
        ++counter;
        if (i % 50 == 0) std::this_thread::yield();  // somebody else looks at the held lock
        ++shadow;
        inside = false;
        lock.release();
      }
    });
  for (auto& thread : all) thread.join();
  EXPECT_EQ(violations, 0);
  EXPECT_EQ(counter, long{threads} * rounds);
  ASSERT_TRUE(lock.try_acquire());
  lock.release();
}

TEST_P(EveryLock, LetsInOneThreadAtATime) {
  hammer(*make_lock(GetParam(), settings()), 2, 20000);
}

TEST_P(EveryLock, LosesNobodyWithMoreThreadsThanCpus) {
  hammer(*make_lock(GetParam(), settings(10)), 16, 1000);
}

TEST_P(EveryLock, WorksWithoutPatience) {
  LockSettings s = settings(1);
  s.patience = 0;
  hammer(*make_lock(GetParam(), s), 8, 1000);
}

TEST_P(EveryLock, RefusesASecondHolder) {
  const auto lock = make_lock(GetParam(), settings());
  for (int low = 0; low < 2; ++low) {
    low ? lock->acquire_low() : lock->acquire();
    std::thread([&] { EXPECT_FALSE(lock->try_acquire()); }).join();
    lock->release();
    ASSERT_TRUE(lock->try_acquire());
    lock->release();
  }
}

void measure(RankLock& lock, LockKind kind, Counters& counters) {
  lock.hold();
  lock.measure(counters);
  lock.enable({.kind = kind, .settings = settings(10), .cpus = 2, .counters = &counters});
  lock.release();
}

TEST_P(EveryLock, IsTheRanksLockToo) {
  Counters counters;
  RankLock lock;
  measure(lock, GetParam(), counters);
  long counter = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < 6; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        lock.hold();
        lock.hold();  // a callback calls MPI
        const long before = counter++;
        lock.release();
        EXPECT_EQ(counter, before + 1);  // still held
        const auto left = lock.let_go();
        EXPECT_EQ(left.depth, 1);
        lock.take_back_low(left);
        lock.release();
      }
    });
  for (auto& thread : all) thread.join();
  EXPECT_EQ(counter, 6 * 500);
  EXPECT_EQ(counters.lock_taken, 2 * 6 * 500U);
  EXPECT_GE(counters.lock_passed, 6U);
  EXPECT_GT(counters.lock_longest_wait_ns, 0U);
  EXPECT_EQ(counters.lock_passed,
            counters.lock_passed_cluster + counters.lock_passed_domain + counters.lock_passed_far);
  // Others hold the lock while a thread waits for it, so all waits together are long.
  EXPECT_GT(counters.issue_ns, 0U);
  EXPECT_GE(counters.sync_ns, counters.lock_longest_wait_ns);
}

/// What a visitor does is counted where it comes from, also if it lets go of the lock meanwhile.
TEST_P(EveryLock, CountsNoTimeOfVisitors) {
  Counters counters;
  RankLock lock;
  measure(lock, GetParam(), counters);
  const auto time = [&] {
    return counters.issue_ns + counters.poll_ns + counters.empty_ns + counters.sync_ns;
  };
  lock.hold();  // what release() took is counted by who comes next
  lock.hold();
  lock.release();
  lock.release();
  ASSERT_TRUE(lock.try_hold());
  const std::uint64_t before = time();
  lock.spent(&Counters::poll_ns);
  lock.release();
  lock.hold_low();
  lock.take_back_low(lock.let_go());
  lock.spent(&Counters::poll_ns);
  lock.release();
  EXPECT_EQ(time(), before);
  lock.hold();
  lock.spent(&Counters::poll_ns);
  lock.release();
  EXPECT_GT(time(), before);
}

INSTANTIATE_TEST_SUITE_P(Locks, EveryLock, testing::ValuesIn(all_kinds), [](const auto& info) {
  return std::string(names[static_cast<int>(info.param)]);
});

/// Threads that join a queue one after the other, and the order in which they get the lock.
class Crowd {
 public:
  explicit Crowd(Lock& lock) : lock_(lock) {}
  void join(int name, bool low, int domain = 0) {
    const std::uint64_t before = lock_.joined();
    threads_.emplace_back([this, name, low, domain] {
      domain_of_thread = domain;
      low ? lock_.acquire_low() : lock_.acquire();
      order_.push_back(name);
      lock_.release();
    });
    wait_for([&] { return lock_.joined() != before; });
  }
  std::vector<int> order() {
    for (auto& thread : threads_) thread.join();
    return order_;
  }

 private:
  Lock& lock_;
  std::vector<std::thread> threads_;
  std::vector<int> order_;  // guarded by the lock
};

/// The first in a biased lock's queue of active threads takes a moment to say so.
void wait_for_candidate(LockKind kind, const Lock& lock) {
  if (kind == LockKind::clhub)
    wait_for([&] { return static_cast<const BiasedLock<Clh>&>(lock).has_candidate(); });
  if (kind == LockKind::hclhub)
    wait_for([&] { return static_cast<const BiasedLock<Cohort>&>(lock).has_candidate(); });
}

TEST(Locks, FirstComeFirstServed) {
  for (const LockKind kind : {LockKind::ticket, LockKind::clh, LockKind::pclh, LockKind::clhub}) {
    for (const bool low : {false, true}) {
      const auto lock = make_lock(kind, settings());
      Crowd crowd(*lock);
      lock->acquire();
      for (int i = 0; i < 6; ++i) crowd.join(i, low);
      lock->release();
      EXPECT_EQ(crowd.order(), (std::vector<int>{0, 1, 2, 3, 4, 5})) << static_cast<int>(kind);
    }
  }
}

TEST(Locks, LowPriorityComesLast) {
  for (const LockKind kind : {LockKind::pclh, LockKind::clhub, LockKind::hclhub}) {
    const auto lock = make_lock(kind, settings());
    Crowd crowd(*lock);
    lock->acquire();
    for (int i = 4; i < 8; ++i) crowd.join(i, true);
    for (int i = 0; i < 4; ++i) crowd.join(i, false);
    wait_for_candidate(kind, *lock);
    lock->release();
    EXPECT_EQ(crowd.order(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7})) << static_cast<int>(kind);
  }
}

TEST(Locks, ParkingLockServesLowPriorityLast) {
  ASSERT_EQ(settings().bias, 0U);
  const auto lock = make_lock(LockKind::park, settings());
  Crowd crowd(*lock);
  lock->acquire();
  for (int i = 4; i < 8; ++i) crowd.join(i, true);
  for (int i = 0; i < 4; ++i) crowd.join(i, false);
  lock->release();
  // Within a priority who is awake comes first, so only the classes are in order.
  const std::vector<int> order = crowd.order();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)] < 4, i < 4) << i;
}

TEST(Locks, ParkingLockWakesEverybodyAsleepOrNot) {
  LockSettings s = settings();
  s.patience = 0;  // all are asleep, or about to be
  const auto lock = make_lock(LockKind::park, s);
  for (int round = 0; round < 20; ++round) {
    Crowd crowd(*lock);
    lock->acquire();
    for (int i = 0; i < 6; ++i) crowd.join(i, false);
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
    lock->release();
    std::vector<int> order = crowd.order();
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  }
}

/// How often this thread takes the lock again before a waiting one gets it.
std::uint32_t times_passed(LockKind kind, std::uint32_t bias, bool low) {
  const auto lock = make_lock(kind, settings(bias));
  bool taken = false;  // guarded by the lock
  lock->acquire();
  const std::uint64_t before = lock->joined();
  std::thread waiter([&] {
    low ? lock->acquire_low() : lock->acquire();
    taken = true;
    lock->release();
  });
  wait_for([&] { return lock->joined() != before; });
  if (!low) wait_for_candidate(kind, *lock);
  std::uint32_t times = 0;
  for (;;) {
    lock->release();
    lock->acquire();
    if (taken) break;
    ++times;
  }
  lock->release();
  waiter.join();
  return times;
}

TEST(Locks, BoundedBiasPassesTheCandidateSoOftenAtMost) {
  for (const LockKind kind : {LockKind::clhub, LockKind::hclhub})
    for (const std::uint32_t bias : {1U, 5U, 50U}) EXPECT_LE(times_passed(kind, bias, false), bias);
}

/// The most of some tries: a candidate that looks at the right moment is not passed at all.
std::uint32_t most_times_passed(LockKind kind, std::uint32_t bias) {
  std::uint32_t most = 0;
  for (int i = 0; i < 200 && most == 0; ++i) most = times_passed(kind, bias, false);
  return most;
}

TEST(Locks, BiasLetsTheLastHolderPassWhoWaits) {
  for (const LockKind kind : {LockKind::clhub, LockKind::hclhub})
    EXPECT_GT(most_times_passed(kind, 50), 0U) << static_cast<int>(kind);
}

TEST(Locks, NobodyPassesWhoWaitsWithoutBias) {
  for (const LockKind kind : {LockKind::ticket, LockKind::clh, LockKind::pclh})
    EXPECT_EQ(most_times_passed(kind, 50), 0U) << static_cast<int>(kind);
}

TEST(Locks, BoundedBiasStarvesNobodyOfLowPriority) {
  for (const LockKind kind : {LockKind::clhub, LockKind::hclhub, LockKind::park})
    for (const std::uint32_t bias : {1U, 50U}) times_passed(kind, bias, true);  // comes to an end
}

TEST(Locks, NodesAreReusedAndGrowWithTheCrowd) {
  const auto lock = make_lock(LockKind::clh, settings());
  for (int round = 0; round < 3; ++round) {
    Crowd crowd(*lock);
    lock->acquire();
    for (int i = 0; i < 40; ++i) crowd.join(i, false);
    lock->release();
    EXPECT_EQ(crowd.order().size(), 40U);
  }
}

TEST(Locks, CohortKeepsTheLockInItsDomain) {
  Cohort lock(settings());
  std::vector<int> order;
  std::vector<std::thread> threads;
  lock.acquire();  // by domain 0
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t before = lock.joined();
    threads.emplace_back([&, i] {
      domain_of_thread = i % 2;
      lock.acquire();
      order.push_back(i % 2);
      lock.release();
    });
    wait_for([&] { return lock.joined() != before; });
  }
  lock.release();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 0, 0, 1, 1, 1}));
}

TEST(Locks, CohortLetsOtherDomainsInAfterTheBound) {
  Cohort lock(settings(2));
  std::vector<int> order;
  std::vector<std::thread> threads;
  lock.acquire();
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = lock.joined();
    threads.emplace_back([&, i] {
      domain_of_thread = i < 2 ? 1 : 0;
      lock.acquire();
      order.push_back(i < 2 ? 1 : 0);
      lock.release();
    });
    wait_for([&] { return lock.joined() != before; });
  }
  lock.release();
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(order.size(), 8U);
  // The bound gives the flag up; who gets it then is not ordered, but domain 0 kept it for two.
  EXPECT_EQ(order[0], 0);
  EXPECT_EQ(order[1], 0);
}

TEST(RankLock, AutoFitsTheThreadsThatCome) {
  RankLock lock;
  lock.hold();
  lock.enable({.kind = LockKind::automatic, .settings = settings(10), .cpus = 2});
  EXPECT_EQ(lock.kind(), LockKind::hclhub);  // four domains
  EXPECT_FALSE(lock.is_crowded());
  lock.release();
  std::vector<std::thread> threads;
  std::atomic<bool> crowded{false};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!crowded) {
        lock.hold();
        std::this_thread::yield();  // others come meanwhile
        if (lock.is_crowded()) crowded = true;
        lock.release();
      }
    });
  for (auto& thread : threads) thread.join();
  lock.hold();
  EXPECT_EQ(lock.kind(), LockKind::hclhub);
  lock.release();
}

TEST(RankLock, AutoIsCrowdedFromTheStartWithOneCpu) {
  RankLock lock;
  lock.hold();
  lock.enable({.kind = LockKind::automatic, .settings = settings(10), .cpus = 1});
  EXPECT_TRUE(lock.is_crowded());
  EXPECT_EQ(lock.kind(), LockKind::hclhub);
  lock.release();
}

TEST(RankLock, ThreadsThatWaitAtTheOldLockFollow) {
  for (int round = 0; round < 20; ++round) {
    RankLock lock;
    int inside = 0;
    lock.hold();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        lock.hold();
        EXPECT_EQ(++inside, 1);
        std::this_thread::yield();
        --inside;
        lock.release();
      });
    std::this_thread::yield();
    lock.enable({.kind = LockKind::clh, .settings = settings(), .cpus = 2});
    EXPECT_EQ(++inside, 1);
    --inside;
    lock.release();
    for (auto& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace weft::sync
