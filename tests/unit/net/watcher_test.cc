// SPDX-License-Identifier: Apache-2.0
#include "net/watcher.h"

#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace weft::net {
namespace {

namespace fs = std::filesystem;

/// Of the thread of this process with that name; -1: there is none.
int descriptors_of(const std::string& name) {
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::string its;
    std::getline(std::ifstream(task.path() / "comm"), its);
    if (its == name)
      return static_cast<int>(std::distance(fs::directory_iterator(task.path() / "fd"), {}));
  }
  return -1;
}

bool kernel_gives_tables() {
  long rc = -1;
  std::thread([&] { rc = syscall(SYS_close_range, ~1U, ~0U, CLOSE_RANGE_UNSHARE); }).join();
  return rc == 0;
}

class WatcherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(ends_), 0);
    ASSERT_FALSE(watcher_.start("watcher-test", Watcher::Descriptors::own));
  }
  void TearDown() override {
    watcher_.stop();
    close(ends_[0]);
    close(ends_[1]);
  }
  void write_and_wait() {
    ASSERT_EQ(write(ends_[1], "x", 1), 1);
    while (wakes_ == 0) std::this_thread::yield();
  }

  int ends_[2];
  std::atomic<int> wakes_{0};
  Watcher watcher_;
  Watcher::Sleeper sleeper_{[](void* wakes) { ++*static_cast<std::atomic<int>*>(wakes); }, &wakes_};
};

TEST_F(WatcherTest, WakesOnceForEachTimeItIsArmed) {
  EXPECT_TRUE(watcher_.arm(ends_[0], sleeper_));
  write_and_wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(watcher_.arm(ends_[0], sleeper_));  // it is readable still
  while (wakes_ < 2) std::this_thread::yield();
  watcher_.remove(ends_[0]);
  EXPECT_TRUE(watcher_.arm(ends_[0], sleeper_));
  while (wakes_ < 3) std::this_thread::yield();
}

// Else each system call of the rank costs more (watcher.cc).
TEST_F(WatcherTest, HasItsOwnDescriptors) {
  if (!kernel_gives_tables()) GTEST_SKIP() << "close_range does not unshare here";
  watcher_.arm(ends_[0], sleeper_);
  write_and_wait();  // so it has begun
  EXPECT_LE(descriptors_of("watcher-test"), 3) << "its set, its end and standard error";
  int again = dup(ends_[0]);
  EXPECT_GE(again, 0) << "the program's are still there";
  close(again);
}

}  // namespace
}  // namespace weft::net
