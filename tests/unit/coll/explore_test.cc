// SPDX-License-Identifier: Apache-2.0
//
// Which of a few ways stays, given what each takes; how often is looked again; and which ways are
// tried.
#include "coll/explore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "coll/choose.h"
#include "coll/walk.h"

namespace weft::coll {
namespace {

const Way* const three[] = {find_way(Call::gather, "pieces"), find_way(Call::gather, "linear"),
                            find_way(Call::gather, "exchange")};

/// Of which a series has 5 calls.
constexpr double price = series_seconds / 5;
constexpr int series_calls = 5;

/// What a call by a way takes a rank, ns per byte.
using Time = std::function<double(int rank, int way, int call)>;

/// A communicator whose ranks are as fast as they are told.
class Ranks {
 public:
  Ranks(int ranks, std::span<const Way* const> ways, Time time)
      : trials_(static_cast<std::size_t>(ranks), Trial(ways, price)), time_(std::move(time)) {}

  void run(int calls) {
    for (const int end = call_ + calls; call_ < end; ++call_) {
      if (!next()) decide();
      const Way* const way = &trials_[0].way();
      const auto ways = trials_[0].ways();
      const int at = static_cast<int>(std::find(ways.begin(), ways.end(), way) - ways.begin());
      double slowest = 0;
      for (std::size_t rank = 0; rank < trials_.size(); ++rank) {
        ASSERT_EQ(&trials_[rank].way(), way) << "call " << call_;
        ASSERT_EQ(trials_[rank].looks(), trials_[0].looks()) << "call " << call_;
        const double time = time_(static_cast<int>(rank), at, call_);
        now_[rank] += std::llround(1000 * time);
        if (trials_[rank].looks()) trials_[rank].ended(now_[rank], 1000);
        slowest = std::max(slowest, time);
      }
      looked_ += trials_[0].looks();
      time_looked_ += trials_[0].looks() ? slowest : 0;
      time_all_ += slowest;
    }
  }

  const Way& taken() const { return trials_[0].taken(); }
  int looked_ = 0, verdicts_ = 0, changes_ = 0, call_ = 0;
  double time_looked_ = 0, time_all_ = 0;

 private:
  bool next() {
    bool all = true;
    for (Trial& trial : trials_) {
      const bool goes_on = trial.next(true);
      EXPECT_TRUE(&trial == &trials_[0] || goes_on == all);
      all = goes_on;
    }
    return all;
  }
  void decide() {
    std::vector<double> slowest(trials_[0].times().begin(), trials_[0].times().end());
    for (const Trial& trial : trials_)
      for (std::size_t way = 0; way < slowest.size(); ++way)
        slowest[way] = std::max(slowest[way], trial.times()[way]);
    ++verdicts_;
    const bool changed = trials_[0].decide(slowest);
    for (std::size_t rank = 1; rank < trials_.size(); ++rank)
      EXPECT_EQ(trials_[rank].decide(slowest), changed);
    changes_ += changed;
  }

  std::vector<Trial> trials_;
  std::int64_t now_[8] = {};
  const Time time_;
};

constexpr int look = 3 * series_calls, first_look = 2 * look,
              two_against_each_other = 2 * 2 * series_calls;

TEST(Trial, TheFastestStays) {
  Ranks ranks(3, three, [](int, int way, int) { return way == 1 ? 1.0 : 2.0; });
  ranks.run(calls_before_looks);
  EXPECT_EQ(ranks.looked_, 0);
  ranks.run(first_look);
  EXPECT_EQ(ranks.looked_, first_look);
  EXPECT_EQ(ranks.verdicts_, 0);
  ranks.run(two_against_each_other);
  EXPECT_EQ(ranks.verdicts_, 1);
  EXPECT_EQ(&ranks.taken(), three[0]) << "until it has been faster twice";
  ranks.run(1);
  EXPECT_EQ(ranks.verdicts_, 2);
  EXPECT_EQ(&ranks.taken(), three[1]);
  EXPECT_EQ(ranks.looked_, first_look + two_against_each_other);
  ranks.run(100000);
  EXPECT_EQ(&ranks.taken(), three[1]);
  EXPECT_EQ(ranks.changes_, 1);
}

TEST(Trial, TheFirstTimeOfAWayDoesNotCount) {
  Ranks ranks(2, three, [](int, int way, int call) {
    const bool cold = call < calls_before_looks + look;
    return way == 1 ? (cold ? 50.0 : 1.0) : 2.0;
  });
  ranks.run(calls_before_looks + first_look + two_against_each_other + 1);
  EXPECT_EQ(&ranks.taken(), three[1]);
}

TEST(Trial, SeriesTakeAboutAsLongWhateverACallTakes) {
  const auto calls_of_a_series = [](double price) {
    Trial trial({three, 2}, price);
    int calls = 0;
    for (; !trial.looks(); ++calls) EXPECT_TRUE(trial.next(true));
    const Way* const first = &trial.way();
    for (calls = 1; trial.next(true) && &trial.way() == first; ++calls) trial.ended(calls, 8);
    return calls;
  };
  EXPECT_EQ(calls_of_a_series(1), least_series_calls);
  EXPECT_EQ(calls_of_a_series(series_seconds / 7.5), 7);
  EXPECT_EQ(calls_of_a_series(1e-7), most_series_calls);
}

TEST(Trial, ALookThatWasDisturbedChangesNothing) {
  const int first = calls_before_looks, end = first + first_look;
  Ranks ranks(2, three, [&](int, int way, int call) {
    return way == 0 && call >= first && call < end ? 10.0 : 1.0 + way;
  });
  ranks.run(100000);
  EXPECT_EQ(&ranks.taken(), three[0]);
  EXPECT_EQ(ranks.changes_, 0);
}

TEST(Trial, OthersMayBeLookingJustNow) {
  Trial trial({three, 2}, price);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(trial.next(false));
    ASSERT_FALSE(trial.looks());
    ASSERT_EQ(&trial.way(), three[0]);
  }
  EXPECT_TRUE(trial.next(true));
  EXPECT_TRUE(trial.looks());
}

TEST(Trial, ItTakesAsLongAsTheSlowestRank) {
  // Way 1 is fast for rank 0 only.
  Ranks ranks(2, three, [](int rank, int way, int) { return way == 1 ? (rank ? 3.0 : 0.1) : 2.0; });
  ranks.run(10000);
  EXPECT_EQ(&ranks.taken(), three[0]);
}

TEST(Trial, LooksTakeLessThanOnePercent) {
  for (const double other : {0.95, 1.0, 1.5, 5.0, 100.0})
    for (const std::size_t count : {2U, 3U}) {
      Ranks ranks(1, {three, count}, [&](int, int way, int) { return way == 0 ? 1.0 : other; });
      ranks.run(calls_before_looks + first_look + two_against_each_other + 1);
      ASSERT_GE(ranks.verdicts_, 1) << other;
      ranks.looked_ = ranks.verdicts_ = 0;
      ranks.time_looked_ = ranks.time_all_ = 0;
      const int calls = 1000000;
      ranks.run(calls);
      EXPECT_GT(ranks.verdicts_, 0) << other;
      EXPECT_LT(ranks.looked_ + ranks.verdicts_, calls / 100) << other;
      EXPECT_LT(ranks.time_looked_ + ranks.verdicts_, ranks.time_all_ / 100) << other;
    }
}

TEST(Trial, FollowsCoresThatMove) {
  bool far = false;
  Ranks ranks(2, three, [&](int, int way, int) { return way == (far ? 2 : 0) ? 1.0 : 1.5; });
  for (int i = 0; i < 6; ++i, far = !far) {
    ranks.run(10000);
    EXPECT_EQ(&ranks.taken(), three[far ? 2 : 0]) << i;
  }
}

TEST(Trial, AlmostAlikeIsNoReasonToChange) {
  Ranks ranks(2, three, [](int, int way, int call) {
    return (way == 0 ? 1.0 : 0.97) + 0.02 * (call / 7 % 2);
  });
  ranks.run(100000);
  EXPECT_EQ(ranks.changes_, 0);
}

TEST(Trial, WhatHitsACallNowAndThenHitsNoWayAlways) {
  // A rank comes late every so many calls; the way's share of that is chance.
  for (int period = 2; period <= 40; ++period) {
    Ranks ranks(1, {three, 2}, [&](int, int way, int call) {
      return (way == 0 ? 1.0 : 1.1) + (call % period == 0 ? 0.3 : 0);
    });
    ranks.run(30000);
    EXPECT_EQ(&ranks.taken(), three[0]) << period;
  }
}

TEST(Trial, RanksThatCouldNotAgreeTryAgain) {
  Trial trial({three, 2}, price);
  std::int64_t now = 0;
  const auto call = [&] {
    now += trial.way().place == Place::block ? 2000 : 1000;
    if (trial.looks()) trial.ended(now, 8);
  };
  for (const bool last : {false, true}) {
    int calls = 0;
    while (trial.next(true)) {
      call();
      ASSERT_LT(++calls, 1000);
    }
    EXPECT_FALSE(trial.next(true));
    EXPECT_FALSE(trial.next(false));
    EXPECT_EQ(trial.decide(trial.times()), last);
    call();
  }
  EXPECT_TRUE(trial.next(true));
  EXPECT_EQ(&trial.way(), three[1]);
}

TEST(Trial, AClockThatStandsStillDoesNoHarm) {
  Ranks ranks(2, three, [](int, int, int) { return 0.0; });
  ranks.run(100000);
  EXPECT_EQ(ranks.changes_, 0);
  EXPECT_LT(ranks.looked_, 2000);
}

model::Machine machine(int ranks) {
  model::Machine x;
  x.levels = 1;
  x.level[0] = {"L3Cache", 50e-9, 4e-9, 1e-9};
  x.fan[0] = ranks;
  x.copy = 1e-9;
  x.reduce = 2e-9;
  x.call = 50e-9;
  x.message = 100e-9;
  return x;
}

TEST(CloseWays, AreThoseThatCostLittleMore) {
  for (const Call call :
       {Call::bcast, Call::gather, Call::scatter, Call::allgather, Call::alltoall})
    for (const int ranks : {2, 4, 32})
      for (const bool reach : {false, true})
        for (std::int64_t bytes = 64; bytes <= 1 << 20; bytes *= 4) {
          Choices choices{.machine = machine(ranks)};
          const Case c{.call = call, .bytes = bytes, .slot_bytes = 4096, .reach = reach};
          const Way& taken = choose(choices, c);
          Walk walk(choices.machine);
          const auto price = [&](const Way& way) {
            return walk.price(way, call, bytes, reach).seconds();
          };
          const auto close = close_ways(choices, c, 1.5);
          const auto all = close_ways(choices, c, 1e6);
          ASSERT_EQ(close[0], &taken);
          ASSERT_EQ(all[0], &taken);
          EXPECT_LE(close.size(), all.size());
          if (taken.place == Place::slots || price(taken) < least_tried) {
            EXPECT_EQ(all.size(), 1U);
            continue;
          }
          EXPECT_GE(all.size(), 2U);
          EXPECT_LE(all.size(), static_cast<std::size_t>(tried_max));
          for (const Way* way : close) {
            EXPECT_LE(price(*way), 1.5 * price(taken)) << call_name(call) << " " << way->name;
            EXPECT_NE(way->place, Place::slots);
            EXPECT_TRUE(reach || way->place != Place::direct);
            EXPECT_FALSE(way->only_if_asked);
          }
          for (std::size_t i = 2; i < all.size(); ++i)
            EXPECT_LE(price(*all[i - 1]), price(*all[i]));
          EXPECT_EQ(close_ways(choices, c, 0.01).size(), 1U);
        }
}

}  // namespace
}  // namespace weft::coll
