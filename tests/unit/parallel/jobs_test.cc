// SPDX-License-Identifier: Apache-2.0
//
// The job engine alone: each chunk is done once, by the caller without help, by callers and helpers
// at once, by helpers that come late to a slot that is another job's by then.
#include "parallel/jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "sync/wait.h"
#include "unit/parallel/helping.h"

namespace weft::parallel {
namespace {

using test::all_of_it;
using test::Helpers;

/// Counts how often each chunk is done, in plain memory: who reads it after offer() must see it.
struct Tally {
  explicit Tally(std::uint32_t n) : done(n) {}
  std::vector<int> done;
  Work work() {
    return {[](void* c, std::uint32_t i) { ++static_cast<Tally*>(c)->done[i]; }, this,
            static_cast<std::uint32_t>(done.size()), 1000};
  }
  void expect_once() const {
    for (std::size_t i = 0; i < done.size(); ++i) ASSERT_EQ(done[i], 1) << "chunk " << i;
  }
};

std::unique_ptr<Jobs> jobs_for(int helpers) {
  auto all = std::make_unique<Jobs>();
  all->configure({.most_helpers = helpers, .min_bytes = 1});
  return all;
}

TEST(Jobs, TheCallerDoesAllOfItWithoutHelp) {
  const auto all = jobs_for(3);
  for (std::uint32_t n : {0U, 1U, 2U, 1000U}) {
    Tally tally(n);
    all->offer(tally.work());
    tally.expect_once();
    EXPECT_FALSE(all->is_offered());
  }
  EXPECT_EQ(all->done().given, 0U);
  EXPECT_EQ(all->done().chunks, 1002U);  // of jobs of two and more
}

TEST(Jobs, EachChunkIsDoneOnceByCallersAndHelpers) {
  const auto all = jobs_for(3);
  {
    const Helpers helpers(*all, 3, 1);
    std::vector<std::thread> callers;
    for (int c = 0; c < 3; ++c)
      callers.emplace_back([&all] {
        for (int round = 0; round < 300; ++round) {
          Tally tally(2 + static_cast<std::uint32_t>(round) % 40);
          all->offer(tally.work());
          tally.expect_once();
        }
      });
    for (std::thread& caller : callers) caller.join();
  }
  EXPECT_EQ(all->done().jobs, 900U);
  EXPECT_FALSE(all->is_offered());
}

/// A chunk that waits for another one to begin shows that two threads are in the job.
TEST(Jobs, AHelperWorksWhileTheCallerDoes) {
  const auto all = jobs_for(1);
  const Helpers helpers(*all, 1, 1);
  struct Both {
    std::atomic<int> inside{0};
  } both;
  all->offer({[](void* c, std::uint32_t) {
                auto& b = *static_cast<Both*>(c);
                b.inside.fetch_add(1);
                while (b.inside.load() < 2) std::this_thread::yield();
              },
              &both, 2, 1000});
  EXPECT_EQ(all->done().given, 1U);
}

TEST(Jobs, HelpersBeginAtTheEndUnlessTheOrderCounts) {
  const auto all = jobs_for(1);
  const Helpers helpers(*all, 1, 1);
  struct Order {
    const std::thread::id caller = std::this_thread::get_id();
    std::vector<std::uint32_t> helped;  // chunks, in the order in which the helper begins them
    std::atomic<int> helps{0};
  };
  for (const bool in_order : {false, true}) {
    Order order;
    all->offer({[](void* c, std::uint32_t i) {
                  auto& o = *static_cast<Order*>(c);
                  if (std::this_thread::get_id() == o.caller) {
                    while (o.helps.load() < 3) std::this_thread::yield();
                  } else {
                    o.helped.push_back(i);
                    ++o.helps;
                  }
                },
                &order, 4, 1000, in_order});
    std::vector<std::uint32_t> expected = {3, 2, 1};
    if (in_order) {  // the caller has the first one, or another one that came later
      expected = order.helped;
      std::ranges::sort(expected);
    }
    EXPECT_EQ(order.helped, expected) << in_order;
  }
}

TEST(Jobs, NoMoreHelpersThanAreWanted) {
  const auto all = jobs_for(2);
  const Helpers helpers(*all, 5, all_of_it);
  struct Inside {
    std::atomic<int> now{0}, most{0};
  } inside;
  for (int round = 0; round < 20; ++round)
    all->offer({[](void* c, std::uint32_t) {
                  auto& x = *static_cast<Inside*>(c);
                  const int now = x.now.fetch_add(1) + 1;
                  int most = x.most.load();
                  while (most < now && !x.most.compare_exchange_weak(most, now)) continue;
                  std::this_thread::yield();
                  x.now.fetch_sub(1);
                },
                &inside, 64, 1000});
  EXPECT_LE(inside.most.load(), 3);  // two and the caller
}

TEST(Jobs, WithoutCpusForHelpersNobodyJoins) {
  const auto all = jobs_for(0);
  const Helpers helpers(*all, 2, 1);
  for (int round = 0; round < 100; ++round) {
    Tally tally(50);
    all->offer(tally.work());
    tally.expect_once();
  }
  EXPECT_EQ(all->done().given, 0U);
}

TEST(Jobs, MoreCallersThanSlotsWorkAlone) {
  const auto all = jobs_for(1);
  constexpr int callers = 80;  // more than there are slots
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int c = 0; c < callers; ++c)
    threads.emplace_back([&] {
      struct Context {
        std::atomic<int>* inside;
        std::vector<int> done = std::vector<int>(2);
      } context{&inside};
      all->offer({[](void* p, std::uint32_t i) {
                    auto& x = *static_cast<Context*>(p);
                    ++x.done[i];
                    if (i > 0) return;
                    x.inside->fetch_add(1);  // all callers hold what they have got
                    while (x.inside->load() < callers) std::this_thread::yield();
                  },
                  &context, 2, 1000});
      EXPECT_EQ(context.done, (std::vector<int>{1, 1}));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Jobs, PartsCoverTheWholeOnce) {
  jobs().configure({.most_helpers = 1, .min_bytes = 1});
  for (std::int64_t bytes : {1, 2, 3, 7, 64, 1000, 4097})
    for (std::int64_t unit : {1, 8, 64}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(bytes));
      std::atomic<int> parts{0};
      for_parts(bytes, unit, 20'000, [&](std::int64_t from, std::int64_t to) {
        EXPECT_LT(from, to);
        EXPECT_EQ(from % unit, 0);
        ++parts;
        for (std::int64_t i = from; i < to; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const auto& n : seen) ASSERT_EQ(n.load(), 1);
      EXPECT_EQ(parts > 1, bytes > unit) << bytes << " by " << unit;
    }
  jobs().configure({});
}

TEST(Jobs, ShortWorkIsNotOffered) {
  Jobs all;
  all.configure({.most_helpers = 1});
  EXPECT_FALSE(all.is_worth(1 << 20, 9'000));
  EXPECT_TRUE(all.is_worth(100, 11'000));
  all.configure({.most_helpers = 1, .min_bytes = 4096});
  EXPECT_FALSE(all.is_worth(4095, 1'000'000));
  EXPECT_TRUE(all.is_worth(4096, 1));
}

/// A thread that sleeps is woken, and does a chunk in its waiting step.
TEST(Jobs, ASleeperIsWokenForLargeWork) {
  const auto all = jobs_for(1);
  sync::Policy policy{.membarrier = true, .spare = all.get()};  // no limit to sleeping
  sync::ParkWord word{1};
  std::atomic<std::uint64_t> helped{0};
  std::thread sleeper([&] {
    sync::Neighbours neighbours;
    sync::Waiter waiter(policy, neighbours);
    while (word.load() != 0) {
      waiter.sleep(word);
      while (waiter.help()) continue;
      helped = waiter.helped();
    }
  });
  const std::int64_t large_ns = 1'000'000'000;
  std::vector<int> done(2000);
  // Chunks that last until somebody has helped; the caller cannot end alone.
  struct Context {
    std::atomic<std::uint64_t>& helped;
    Jobs& all;
    std::vector<int>& done;
  } context{helped, *all, done};
  while (helped.load() == 0)
    all->offer({[](void* c, std::uint32_t i) {
                  ++static_cast<Context*>(c)->done[i];
                  std::this_thread::yield();
                },
                &context, 2000, large_ns});
  word = 0;
  sync::wake_all(word);
  sleeper.join();
  EXPECT_GT(helped.load(), 0U);
  for (std::size_t i = 1; i < done.size(); ++i) ASSERT_EQ(done[i], done[0]);
}

}  // namespace
}  // namespace weft::parallel
