// SPDX-License-Identifier: Apache-2.0
//
// The decision whether idle threads help with a message: every combination of idle threads, bytes,
// room and time, against the paper's rule and the profile's as sentences.
#include "parallel/transfer.h"

#include <gtest/gtest.h>

#include <vector>

#include "parallel/jobs.h"
#include "sync/wait.h"
#include "unit/parallel/helping.h"

namespace weft::parallel {
namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t no_limit = INT64_MAX;

template <class Body>
void for_all(Body&& body) {
  std::vector<std::int64_t> sizes = {1, 16 * kib - 1, 16 * kib};
  for (std::int64_t n = 32 * kib; n <= std::int64_t{64} << 20; n *= 2)
    sizes.insert(sizes.end(), {n - 1, n, n + 1});
  std::vector<std::int64_t> rooms = {0, no_limit};
  rooms.insert(rooms.end(), sizes.begin(), sizes.end());
  for (int idle = 0; idle <= 300; ++idle)
    for (const std::int64_t bytes : sizes)
      for (const std::int64_t room : rooms) body(idle, bytes, room);
}

/// MT-MPI, ICS'14, section 3.2.2: "improve performance only when (1) the message size is not too
/// small (>= 64 Kbytes), (2) the number of threads is not too few (>= 8), and (3) the total size of
/// free cells is not too small (>= 64 Kbytes)".
TEST(AtOnce, ThePapersRule) {
  for_all([](int idle, std::int64_t bytes, std::int64_t room) {
    const int threads = idle + 1;
    std::int64_t expected = 0;
    if (bytes >= 65536 && threads >= 8 && room >= 65536) expected = std::min(bytes, room);
    for (const std::int64_t worth : {std::int64_t{0}, least_worth_ns, no_limit})
      ASSERT_EQ(at_once(Rule::paper, {bytes, room, worth, idle}), expected)
          << bytes << " bytes, room " << room << ", " << idle << " idle";
  });
}

/// One idle thread is enough; what is copied at once takes one thread 10 us and more, at prices of
/// near and of far lines.
TEST(AtOnce, TheProfiles) {
  for (const double line_ns : {0.6, 8.0, 100.0})
    for_all([line_ns](int idle, std::int64_t bytes, std::int64_t room) {
      const std::int64_t all = std::min(bytes, room);
      const auto worth = static_cast<std::int64_t>(static_cast<double>(all) / 64 * line_ns);
      const std::int64_t expected = idle >= 1 && worth >= 10000 ? all : 0;
      ASSERT_EQ(at_once(Rule::profile, {bytes, room, worth, idle}), expected)
          << bytes << " bytes, room " << room << ", " << idle << " idle";
    });
}

TEST(AtOnce, Alone) {
  for_all([](int idle, std::int64_t bytes, std::int64_t room) {
    ASSERT_EQ(at_once(Rule::alone, {bytes, room, no_limit, idle}), 0);
  });
}

/// Where the rules differ, with 8 ns a line: the profile helps with fewer threads, and does not
/// begin before 80000 bytes.
TEST(AtOnce, RulesDiffer) {
  const auto of = [](Rule rule, std::int64_t bytes, int idle) {
    return at_once(rule, {bytes, no_limit, bytes / 8, idle}) > 0;
  };
  EXPECT_FALSE(of(Rule::paper, 1 << 20, 6));
  EXPECT_TRUE(of(Rule::profile, 1 << 20, 6));
  EXPECT_TRUE(of(Rule::paper, 64 * kib, 7));
  EXPECT_FALSE(of(Rule::profile, 64 * kib, 7));
  EXPECT_TRUE(of(Rule::profile, 80000, 1));
}

/// What Jobs knows of it: who waits, but not the asker; who sleeps, for large work; no more than
/// there are CPUs; parameters.
TEST(AtOnce, AsksWhoIsIdle) {
  constexpr std::int64_t large = 1 << 20, middle_ns = 50'000, large_ns = 1'000'000;
  Jobs all;
  all.configure({.most_helpers = 2});
  EXPECT_EQ(all.at_once(large, large, large_ns, false), 0);
  all.count_waiting(1);
  EXPECT_EQ(all.idle(large_ns), 0) << "the asker";
  std::atomic<int> step{0};
  std::thread other([&] {
    all.count_waiting(1);
    EXPECT_EQ(all.idle(large_ns), 1);
    step = 1;
    while (step.load() == 1) std::this_thread::yield();
    all.count_waiting(-1);
  });
  while (step.load() == 0) std::this_thread::yield();
  EXPECT_EQ(all.idle(middle_ns), 1);
  EXPECT_EQ(all.at_once(large, 4096, middle_ns, false), 4096);
  EXPECT_EQ(all.at_once(large, 4096, middle_ns, true), 0) << "it is the other side that waits";
  EXPECT_EQ(all.at_once(large, large, 9'999, false), 0);
  all.count_sleeping(1);
  EXPECT_EQ(all.at_once(large, large, middle_ns, false), 0) << "it would not be woken";
  EXPECT_EQ(all.at_once(large, large, large_ns, false), large);
  all.count_sleeping(-1);
  all.configure({.most_helpers = 2, .transfers = Rule::alone});
  EXPECT_EQ(all.at_once(large, large, large_ns, false), 0);
  all.configure({.most_helpers = 2, .transfers = Rule::paper});
  EXPECT_EQ(all.at_once(large, large, large_ns, false), 0);
  all.configure({.most_helpers = 0});
  EXPECT_EQ(all.at_once(large, large, large_ns, false), 0);
  all.configure({.most_helpers = 0, .min_bytes = 100});
  EXPECT_EQ(all.at_once(100, large, 0, false), 100);
  EXPECT_EQ(all.at_once(99, large, large_ns, false), 0);
  step = 2;
  other.join();
  all.count_waiting(-1);
}

/// A job in which its one helper is: whoever waits gives its core away at each look, and spins
/// again when the job is over.
TEST(GivingWay, WhoWaitsYieldsWhileAJobIsFull) {
  Jobs all;
  all.configure({.most_helpers = 1, .min_bytes = 1});
  constexpr std::int64_t hour_ns = 3600 * std::int64_t{1'000'000'000};
  const sync::Policy policy{.spin_ns = hour_ns, .yield_ns = hour_ns, .spare = &all};
  sync::Neighbours neighbours;
  std::atomic<int> inside{0}, over{0};
  struct Context {
    std::atomic<int>&inside, &over;
  } context{inside, over};
  std::thread caller([&] {
    all.offer({[](void* c, std::uint32_t) {
                 auto& x = *static_cast<Context*>(c);
                 ++x.inside;
                 while (x.over.load() == 0) std::this_thread::yield();
               },
               &context, 2, 1000});
  });
  std::thread helper([&] {
    while (inside.load() < 2) all.help(1);
  });
  while (inside.load() < 2) std::this_thread::yield();
  constexpr int looks = 50;
  {
    sync::Waiter waiter(policy, neighbours);
    for (int i = 0; i < looks; ++i) waiter.step(sync::Waiter::Spinning::long_);
    EXPECT_EQ(waiter.yields(), static_cast<std::uint64_t>(looks));
    EXPECT_EQ(waiter.helped(), 0U);
  }
  over = 1;
  caller.join();
  helper.join();
  sync::Waiter waiter(policy, neighbours);
  for (int i = 0; i < looks; ++i) waiter.step(sync::Waiter::Spinning::long_);
  EXPECT_EQ(waiter.yields(), 0U);
}

/// A thread whose wait is over leaves after the chunk it is in, however many are left.
TEST(GivingWay, AHelperLooksAfterEachChunk) {
  Jobs all;
  all.configure({.most_helpers = 1, .min_bytes = 1});
  const sync::Policy policy{.spare = &all};
  sync::Neighbours neighbours;
  std::atomic<int> looked{0};
  struct Context {
    Jobs& all;
    std::atomic<int>& looked;
    std::vector<int> done = std::vector<int>(100);
    std::thread::id caller = std::this_thread::get_id();
  } context{all, looked};
  std::thread helper([&] {
    sync::Waiter waiter(policy, neighbours);
    while (waiter.helped() == 0) waiter.step(sync::Waiter::Spinning::long_);
    EXPECT_EQ(waiter.helped(), 1U);
    looked = 1;
  });
  all.offer({[](void* c, std::uint32_t i) {
               auto& x = *static_cast<Context*>(c);
               ++x.done[i];
               // The caller leaves the others to the helper until that is back.
               const bool caller = std::this_thread::get_id() == x.caller;
               while (caller && x.looked.load() == 0) std::this_thread::yield();
             },
             &context, 100, 1000});
  helper.join();
  EXPECT_EQ(context.done, std::vector<int>(100, 1));
}

/// Chunks are of about 20 us, by the cost model.
TEST(GivingWay, ChunksAreShort) {
  Jobs all;
  all.configure({.most_helpers = 1});
  for (std::int64_t worth = 80'000; worth < std::int64_t{1} << 34; worth = worth * 3 / 2)
    EXPECT_LE(worth / all.chunks_for(worth), 25'000) << worth;
}

}  // namespace
}  // namespace weft::parallel
