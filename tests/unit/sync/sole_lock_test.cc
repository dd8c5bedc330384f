// SPDX-License-Identifier: Apache-2.0
//
// One lock in place of several as long as one thread comes; then the several.
#include "sync/sole_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sync/lock.h"
#include "sync/wait.h"

namespace weft::sync {
namespace {

const bool fences = permit_fences();

/// The locks of a rank with two contexts.
struct Locks {
  SoleLock sole;
  RankLock lock[2];
  Counters counters;
  int ends = 0;
  bool held_at_end = false;

  explicit Locks(int cpus = 2) {
    sole.announce({[](void* me) { static_cast<Locks*>(me)->end(); }, this});
    for (RankLock& l : lock) {
      l.hold();
      l.enable({.settings = {.patience = 20}, .cpus = cpus, .sole = &sole, .counters = &counters});
      l.release();
    }
    counters = {};
    sole.open(counters.lock_taken);
  }

 private:
  void end() {
    ++ends;
    held_at_end |= lock[0].is_mine() || lock[1].is_mine();
  }
};

TEST(SoleLock, IsInPlaceOfAllLocksOfItsThread) {
  Locks l;
  l.lock[0].hold();
  l.lock[1].hold();
  EXPECT_TRUE(l.lock[0].is_mine());
  EXPECT_TRUE(l.lock[1].is_mine());
  EXPECT_FALSE(l.lock[0].try_hold());  // it is held
  const auto left = l.lock[1].let_go();
  EXPECT_EQ(left.depth, 2);
  EXPECT_FALSE(l.lock[0].is_mine());
  EXPECT_TRUE(l.lock[0].try_hold());
  l.lock[0].release();
  l.lock[1].take_back_low(left);
  l.lock[1].release();
  EXPECT_TRUE(l.sole.is_mine());
  l.lock[0].release();
  EXPECT_FALSE(l.sole.is_mine());
  EXPECT_EQ(l.counters.lock_taken, 3U);  // from outside
  EXPECT_EQ(l.ends, 0);
}

TEST(SoleLock, EndsWhenASecondThreadComes) {
  Locks l;
  l.lock[0].hold();
  l.lock[0].hold();
  std::atomic<bool> in{false};
  std::thread other([&] {
    l.lock[1].hold();  // of another context; but this thread has all
    in = true;
    l.lock[1].release();
  });
  for (int i = 0; i < 100; ++i) yield();
  EXPECT_FALSE(in);
  const auto left = l.lock[0].let_go();  // it waits
  other.join();
  EXPECT_EQ(l.ends, 1);
  EXPECT_FALSE(l.held_at_end);
  l.lock[0].take_back(left);  // the lock of this context alone, as deep
  EXPECT_FALSE(l.sole.is_mine());
  EXPECT_TRUE(l.lock[0].is_mine());
  EXPECT_FALSE(l.lock[1].is_mine());
  std::thread([&] { l.lock[1].hold(), l.lock[1].release(); }).join();
  l.lock[0].release();
  EXPECT_TRUE(l.lock[0].is_mine());
  l.lock[0].release();
  EXPECT_FALSE(l.lock[0].is_mine());
  EXPECT_EQ(l.ends, 1);
}

/// The owner is inside as often as it can; others come at any moment.
TEST(SoleLock, LetsInOneThreadAtATimeWhenOthersCome) {
  ASSERT_TRUE(fences);
  for (int round = 0; round < 100; ++round) {
    Locks l;
    int inside = 0;
    std::atomic<int> over{0};
    std::vector<std::thread> others;
    for (int other = 0; other < 2; ++other)
      others.emplace_back([&, other] {
        for (int i = 0; i < (20 + other) * round; ++i) pause();
        for (int i = 0; i < 3; ++i) {
          l.lock[0].hold();
          EXPECT_EQ(++inside, 1);
          --inside;
          l.lock[0].release();
        }
        ++over;
      });
    while (over < 2) {
      l.lock[0].hold();
      EXPECT_EQ(++inside, 1);
      --inside;
      const auto left = l.lock[0].let_go();  // it waits
      l.lock[0].take_back_low(left);
      EXPECT_EQ(++inside, 1);
      --inside;
      l.lock[0].release();
    }
    for (std::thread& other : others) other.join();
    EXPECT_EQ(l.ends, 1);
  }
}

TEST(SoleLock, AGuestVisitsWhileItsOwnerIsOutside) {
  Locks l;
  using Visit = SoleLock::Visit;
  const auto visit = [&l] {
    Visit is{};
    std::thread([&] {
      is = l.sole.visit();
      if (is == Visit::inside) l.sole.leave_visit();
    }).join();
    return is;
  };
  EXPECT_EQ(visit(), Visit::inside);
  l.lock[0].hold();
  EXPECT_EQ(visit(), Visit::busy);
  l.lock[0].release();
  EXPECT_EQ(visit(), Visit::inside);
  EXPECT_EQ(l.ends, 0);
  l.lock[1].hold();  // it is the owner's still
  EXPECT_TRUE(l.sole.is_mine());
  l.lock[1].release();
  EXPECT_EQ(l.sole.taken(), 2U);
  std::thread([&] { l.lock[1].hold(), l.lock[1].release(); }).join();
  EXPECT_EQ(visit(), Visit::over);
  EXPECT_EQ(l.ends, 1);
}

TEST(SoleLock, WhoFindsAVisitorWaitsUntilItHasGone) {
  for (const bool is_owner : {true, false}) {
    Locks l;
    std::atomic<bool> visits{false}, wanted{false};
    std::thread guest([&] {
      ASSERT_EQ(l.sole.visit(), SoleLock::Visit::inside);
      visits = true;
      while (!l.sole.is_wanted()) yield();
      wanted = true;
      l.sole.leave_visit();
    });
    while (!visits) yield();
    const auto come = [&] {
      l.lock[0].hold();
      EXPECT_TRUE(wanted);
      EXPECT_EQ(l.sole.is_mine(), is_owner);
      l.lock[0].release();
    };
    if (is_owner) {
      come();
    } else {
      std::thread(come).join();
    }
    guest.join();
    EXPECT_EQ(l.ends, is_owner ? 0 : 1);
  }
}

/// A guest, the owner, and late another thread, as often as they can.
TEST(SoleLock, LetsInOneAtATimeWithAGuest) {
  ASSERT_TRUE(fences);
  std::atomic<int> visits = 0;
  for (int round = 0; round < 50; ++round) {
    Locks l;
    int inside = 0;
    std::atomic<bool> over{false};
    std::thread guest([&] {
      while (!over) {
        const auto is = l.sole.visit();
        if (is == SoleLock::Visit::over) return;
        if (is == SoleLock::Visit::busy) continue;
        ++visits;
        for (int i = 0; i < 20 && !l.sole.is_wanted(); ++i) {
          EXPECT_EQ(++inside, 1);
          --inside;
        }
        l.sole.leave_visit();
      }
    });
    while (round == 0 && visits == 0) yield();  // later rounds: as it happens
    std::thread other;
    for (int i = 0; i < 1000; ++i) {
      l.lock[0].hold();
      EXPECT_EQ(++inside, 1);
      --inside;
      l.lock[0].release();
      if (i == 10 * round)
        other = std::thread([&] {
          l.lock[0].hold();
          EXPECT_EQ(++inside, 1);
          --inside;
          l.lock[0].release();
        });
    }
    over = true;
    guest.join();
    other.join();
    EXPECT_EQ(l.ends, 1);
  }
  EXPECT_GT(visits, 0);
}

TEST(SoleLock, EndsWhenAThreadComesBeforeItsOwner) {
  SoleLock sole;
  int ends = 0;
  std::uint64_t taken = 0;
  EXPECT_FALSE(sole.enter());
  sole.announce({[](void* count) { ++*static_cast<int*>(count); }, &ends});
  std::thread([&] { sole.join(), sole.join(); }).join();
  EXPECT_EQ(ends, 1);
  sole.open(taken);
  EXPECT_FALSE(sole.enter());
  EXPECT_FALSE(sole.leave());
  sole.join();
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(taken, 0U);
}

}  // namespace
}  // namespace weft::sync
