// SPDX-License-Identifier: Apache-2.0
//
// Notes in a job's memory, and making sure that what looks like a hang is one.
#include "hang/watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/clock.h"
#include "sync/wait.h"
#include "unit/hang/view_of.h"

namespace weft::hang {
namespace {

class WatchTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<memory::Job*> made = memory::Job::create(2, 2, Params::from_env(false));
    ASSERT_FALSE(made.err);
    job.reset(made.value);
    for (int r = 0; r < 2; ++r) job->entry(r).state = memory::RankState::initialized;
  }

  sync::ParkWord& word(int r) { return *reinterpret_cast<sync::ParkWord*>(job->area(r, 0)); }

  Slot& note(int r, std::uint64_t wait) {
    ViewOf v(2);
    Record& record = v.receives(r, 1 - r);
    record.wait = wait;
    record.since_ns = record.moved_ns = 0;
    record.park_at = job->offset_of(&word(r));
    Slot& slot = *board(*job, r).try_take();
    board(*job, r).waits.fetch_add(1);
    slot.write(record);
    slot.count_look();
    return slot;
  }

  std::unique_ptr<memory::Job> job;
};

TEST_F(WatchTest, ReportedOnceAndOnlyWhenAllHaveLookedTwiceMore) {
  Watch watch(*job, limit);
  Slot* slots[] = {&note(0, 1), &note(1, 1)};
  std::int64_t at = now_ns() + limit;
  const auto look = [&] { return watch.look(at = std::max(at, watch.next_ns())).has_value(); };
  for (int i = 0; i < 20; ++i) {
    word(0) = word(1) = 1;  // both sleep
    EXPECT_FALSE(look());
    EXPECT_EQ(word(0), 0u);  // and are woken
    EXPECT_EQ(word(1), 0u);
  }
  slots[0]->count_look();
  slots[0]->count_look();
  slots[1]->count_look();
  word(0) = word(1) = 1;
  EXPECT_FALSE(look());
  EXPECT_EQ(word(0), 1u);  // it has looked
  EXPECT_EQ(word(1), 0u);
  slots[1]->count_look();
  EXPECT_TRUE(look());
  EXPECT_FALSE(look());
}

TEST_F(WatchTest, WhoGoesOnIsNotReported) {
  Watch watch(*job, limit);
  Slot* slots[] = {&note(0, 1), &note(1, 1)};
  std::int64_t at = now_ns() + limit;
  const auto look = [&] { return watch.look(at = std::max(at, watch.next_ns())).has_value(); };
  EXPECT_FALSE(look());
  slots[0]->give_back();  // the message was there
  EXPECT_FALSE(look());
  note(0, 2);  // the next wait, as old as the clock here says: suspected anew
  EXPECT_FALSE(look());
  slots[1]->count_look();
  slots[1]->count_look();
  EXPECT_FALSE(look());
}

TEST_F(WatchTest, ThreadsThatOthersWakeHaveToLookToo) {
  Watch watch(*job, limit);
  Slot* slots[] = {&note(0, 1), &note(1, 1)};
  Record record;
  std::uint64_t looks = 0;
  ASSERT_TRUE(slots[1]->read(&record, &looks));
  record.park_at = 0;
  slots[1]->write(record);
  std::int64_t at = now_ns() + limit;
  const auto look = [&] { return watch.look(at = std::max(at, watch.next_ns())).has_value(); };
  EXPECT_FALSE(look());
  slots[0]->count_look();
  slots[0]->count_look();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(look());
  slots[1]->count_look();
  slots[1]->count_look();
  EXPECT_TRUE(look());
}

TEST_F(WatchTest, SeesAllThreadsThatFoundASlot) {
  const auto seen = [&] { return look_at(*job, now_ns()).rank(0).threads.size(); };
  EXPECT_EQ(seen(), 0U);
  Slot& first = note(0, 1);
  for (int i = 2; i <= Board::slots; ++i) note(0, static_cast<std::uint64_t>(i));
  EXPECT_EQ(seen(), std::size_t{Board::slots});
  EXPECT_EQ(board(*job, 0).try_take(), nullptr);
  first.give_back();
  EXPECT_EQ(seen(), std::size_t{Board::slots} - 1);
  EXPECT_EQ(board(*job, 0).try_take(), &first);
}

TEST_F(WatchTest, Never) {
  Watch watch(*job, 0);
  note(0, 1);
  note(1, 1);
  EXPECT_EQ(watch.next_ns(), 0);
  EXPECT_FALSE(watch.look(now_ns() + limit).has_value());
}

TEST(SlotTest, ReadersSeeWholeRecords) {
  const auto slot = std::make_unique<Slot>();
  ASSERT_TRUE(slot->try_take());
  EXPECT_FALSE(slot->try_take());
  std::thread writer([&slot] {
    Record record;
    for (std::uint64_t i = 1; i <= 20000; ++i) {
      record.wait = i;
      record.call_site = i;
      record.begun[Record::begun_max - 1].operations = static_cast<std::uint32_t>(i);
      slot->write(record);
    }
    slot->give_back();
  });
  std::uint64_t looks = 0, last = 0;
  for (bool ended = false; !ended;) {
    Record record;
    if (slot->read(&record, &looks)) {
      EXPECT_EQ(record.wait, record.call_site);
      EXPECT_EQ(record.wait, record.begun[Record::begun_max - 1].operations);
      EXPECT_GE(record.wait, last);
      last = record.wait;
    }
    ended = slot->try_take();
  }
  writer.join();
  Record record;
  EXPECT_FALSE(slot->read(&record, &looks));
}

}  // namespace
}  // namespace weft::hang
