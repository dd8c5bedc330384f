// SPDX-License-Identifier: Apache-2.0
//
// A thread that sleeps on its signal and on words in shared memory.
#include "sync/signal.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/clock.h"
#include "sync/wait.h"

namespace weft::sync {
namespace {

struct Sleeping {
  Signal signal;
  std::vector<ParkWord> words;
  std::vector<ParkWord*> list;
  std::atomic<int> woken{0};

  explicit Sleeping(std::size_t others) : words(others) {
    for (ParkWord& word : words) {
      word = 1;
      list.push_back(&word);
    }
  }
  /// Until all words and the signal have been seen, as a progress thread does.
  void run() {
    for (bool all = false; !all;) {
      signal.take();
      all = true;
      for (ParkWord& word : words) all = all && word == 0;
      if (!all) signal.sleep(0, nullptr, list);
      ++woken;
    }
  }
  void publish(ParkWord& word) {
    word = 0;
    wake_all(word);
  }
};

/// None, one, several, and more than the kernel takes at once.
TEST(Signal, EveryWordWakes) {
  for (const std::size_t others : {1, 2, 5, 127, 128}) {
    Sleeping s(others);
    std::thread sleeper([&s] { s.run(); });
    for (ParkWord& word : s.words) s.publish(word);
    sleeper.join();
    EXPECT_GE(s.woken, 1) << others;
  }
}

TEST(Signal, IsHeardBesideWords) {
  for (const std::size_t others : {2, 5}) {
    Sleeping s(others);
    std::thread sleeper([&s] { s.signal.sleep(0, nullptr, s.list); });
    s.signal.give();
    sleeper.join();
  }
}

TEST(Signal, SleepsNoLongerThanAsked) {
  for (const std::size_t others : {0, 1, 3}) {
    Sleeping s(others);
    const std::int64_t begin = now_ns();
    EXPECT_EQ(s.signal.sleep(2'000'000, nullptr, s.list), Signal::Woken::by_time) << others;
    EXPECT_GE(now_ns() - begin, 1'900'000) << others;
  }
}

}  // namespace
}  // namespace weft::sync
