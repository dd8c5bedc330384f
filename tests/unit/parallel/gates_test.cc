// SPDX-License-Identifier: Apache-2.0
//
// Gates at critical sections: who waits for one in which a job was offered helps; who passes is
// alone in it; nested sections do not wait for each other.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "parallel/openmp/members.h"
#include "unit/parallel/helping.h"

namespace weft::parallel::openmp {
namespace {

/// A critical section as a runtime makes it: a lock, and what is said about it.
struct Section {
  explicit Section(Mutex n) : name(n) {}
  const Mutex name;
  std::mutex lock;
  void enter() {
    Member::mine()->want(name);
    lock.lock();
    Member::mine()->have(name);
  }
  void leave() {
    lock.unlock();
    Member::mine()->release(name);
  }
};

struct Offered {
  explicit Offered(int helpers) { jobs().configure({.most_helpers = helpers, .min_bytes = 1}); }
  ~Offered() { jobs().configure({}); }
};

TEST(Gates, WhoWantsTheSectionHelps) {
  const Offered offered(1);
  Section section(1001);
  section.enter();
  Member::mine()->open_gates();
  std::atomic<bool> entered{false};
  std::thread other([&] {
    section.enter();
    entered = true;
    section.leave();
  });
  // Chunks that last until another thread has been in one: it can only be at the gate, perhaps just
  // falling asleep there.
  struct Context {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> helped{false};
  } context;
  constexpr std::int64_t worth_waking_ns = 1'000'000;
  while (!context.helped.load())
    jobs().offer({[](void* c, std::uint32_t) {
                    auto& x = *static_cast<Context*>(c);
                    if (std::this_thread::get_id() != x.caller) x.helped = true;
                    std::this_thread::yield();
                  },
                  &context, 1000, worth_waking_ns});
  EXPECT_FALSE(entered.load());
  section.leave();
  other.join();
  EXPECT_TRUE(entered.load());
}

TEST(Gates, OneThreadAtATimeAndNoneIsForgotten) {
  const Offered offered(2);
  Section outer(1002), inner(1003);
  long count = 0;
  std::vector<std::thread> threads;
  constexpr int rounds = 3000, each = 4;
  for (int t = 0; t < each; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        outer.enter();
        inner.enter();
        if (i == 10 * t) Member::mine()->open_gates();  // in the midst of it
        ++count;
        inner.leave();
        outer.leave();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, rounds * each);
}

/// A thread that waits long sleeps, and is woken.
TEST(Gates, SleepersAreWoken) {
  Section section(1004);
  section.enter();
  Member::mine()->open_gates();
  std::vector<std::thread> threads;
  std::atomic<int> entered{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      section.enter();
      ++entered;
      section.leave();
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(entered.load(), 0);
  section.leave();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered.load(), 3);
}

}  // namespace
}  // namespace weft::parallel::openmp
