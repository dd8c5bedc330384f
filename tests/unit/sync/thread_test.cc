// SPDX-License-Identifier: Apache-2.0
//
// Threads of weft's own: name, signals, place, sleep, end.
#include "sync/thread.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "sync/wait.h"

namespace weft::sync {
namespace {

/// Counts what it finds; sleeps while there is nothing.
struct Counting {
  std::atomic<int> work{0}, done{0}, sleeps{0};
  std::string name;
  sigset_t blocked{};
  cpu_set_t cpus{};
  std::atomic<bool> ready{false};

  static void run(Thread& me, void* state) {
    auto& c = *static_cast<Counting*>(state);
    sched_getaffinity(0, sizeof c.cpus, &c.cpus);
    pthread_sigmask(SIG_BLOCK, nullptr, &c.blocked);
    c.ready = true;
    while (!me.is_to_end()) {
      me.attend();
      if (const int n = c.work.exchange(0, std::memory_order_relaxed); n > 0) {
        c.done += n;
        continue;
      }
      ++c.sleeps;
      me.sleep();
    }
  }
  void wait_for(int n) {
    while (done < n) yield();
  }
};

std::vector<int> allowed() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  return out;
}

TEST(Thread, TakesNoSignalAndEnds) {
  Counting c;
  Thread thread;
  EXPECT_FALSE(thread.is_running());
  thread.end();  // nothing
  ASSERT_FALSE(thread.start({"weft-test", {}, Counting::run, &c}));
  EXPECT_TRUE(thread.is_running());
  EXPECT_FALSE(thread.is_placed());
  thread.end();
  EXPECT_FALSE(thread.is_running());
  EXPECT_TRUE(sigismember(&c.blocked, SIGUSR1));
  EXPECT_TRUE(sigismember(&c.blocked, SIGINT));
  sigset_t mine;
  pthread_sigmask(SIG_BLOCK, nullptr, &mine);
  EXPECT_FALSE(sigismember(&mine, SIGUSR1));
  ASSERT_FALSE(thread.start({"weft-test", {}, Counting::run, &c}));  // again
  thread.end();
}

TEST(Thread, HasAName) {
  struct Named {
    std::atomic<bool> go{false};
    char text[16] = "";
  } named;
  Thread thread;
  ASSERT_FALSE(thread.start({"weft-progress.1234",
                             {},
                             [](Thread&, void* state) {
                               auto& n = *static_cast<Named*>(state);
                               while (!n.go) yield();
                               pthread_getname_np(pthread_self(), n.text, sizeof n.text);
                             },
                             &named}));
  named.go = true;
  thread.end();
  EXPECT_STREQ(named.text, "weft-progress.1");
}

TEST(Thread, SitsWhereItIsTold) {
  struct Where {
    std::atomic<bool> go{false};
    cpu_set_t cpus;
  } where;
  const auto look = [](Thread&, void* state) {
    auto& w = *static_cast<Where*>(state);
    while (!w.go) yield();
    sched_getaffinity(0, sizeof w.cpus, &w.cpus);
  };
  const int last[] = {allowed().back()};
  Thread thread;
  ASSERT_FALSE(thread.start({"weft-test", last, look, &where}));
  EXPECT_TRUE(thread.is_placed());
  where.go = true;
  thread.end();
  EXPECT_EQ(CPU_COUNT(&where.cpus), 1);
  EXPECT_TRUE(CPU_ISSET(last[0], &where.cpus));
  const int none[] = {100'000};  // no machine has it: the starter's
  ASSERT_FALSE(thread.start({"weft-test", none, look, &where}));
  EXPECT_FALSE(thread.is_placed());
  thread.end();
  EXPECT_EQ(static_cast<std::size_t>(CPU_COUNT(&where.cpus)), allowed().size());
}

TEST(Thread, LosesNoWork) {
  Counting c;
  Thread thread;
  ASSERT_FALSE(thread.start({"weft-test", {}, Counting::run, &c}));
  constexpr int times = 20'000;
  int woken = 0;
  for (int i = 1; i <= times; ++i) {
    c.work.fetch_add(1, std::memory_order_relaxed);
    woken += thread.wake() ? 1 : 0;
    if (i % 16 == 0) c.wait_for(i);  // so that it falls asleep at any moment
  }
  c.wait_for(times);
  thread.end();
  EXPECT_EQ(c.done, times);
  EXPECT_GT(woken, 0);
  EXPECT_GE(c.sleeps, woken);
}

TEST(Thread, EndsWhileItSleeps) {
  Counting c;
  Thread thread;
  ASSERT_FALSE(thread.start({"weft-test", {}, Counting::run, &c}));
  while (c.sleeps == 0) yield();
  usleep(1000);
  thread.end();
  EXPECT_EQ(c.done, 0);
}

TEST(Thread, IsNotInTheChildOfAFork) {
  Counting c;
  Thread thread;
  ASSERT_FALSE(thread.start({"weft-test", {}, Counting::run, &c}));
  while (c.sleeps == 0) yield();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  c.work.fetch_add(1);
  thread.wake();
  c.wait_for(1);
  thread.end();
}

}  // namespace
}  // namespace weft::sync
