// SPDX-License-Identifier: Apache-2.0
// What mpiexec concludes from its agents' answers, also about ranks that were spawned.
#include "launch/far_hangs.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/clock.h"

namespace weft::launch {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Rank 0 is on a, rank 1 on b, where ranks 2 and 3 were spawned.
struct FarHangsTest : testing::Test {
  Options options = [] {
    Options out;
    out.programs.resize(1);
    out.programs[0].ranks = 2;
    out.hosts = {{"a", 1, 1}, {"b", 3, 1}};
    out.env.emplace_back("WEFT_SYNC_HANG_SECONDS", "1");
    return out;
  }();
  const std::vector<std::int32_t> spawned_on = {1, 1};
  FarHangs hangs{options};
  std::uint64_t looks = 0;  // of each thread so far

  static Seen::Rank rank(int number) {
    Seen::Rank out;
    out.number = number;
    out.pid = 100 + number;
    out.state = static_cast<std::uint8_t>(hang::RankView::State::running);
    if (number > 1) out.world = {2, 2};
    return out;
  }
  /// In MPI_Recv for 5 s.
  Seen::Rank receives(int number, int from) const {
    hang::Thread thread;
    thread.looks = looks;
    hang::Record& record = thread.record;
    record.wait = 1;
    record.since_ns = record.moved_ns = now_ns() - 5 * second;
    record.needs_count = 1;
    record.needs[0].what = hang::What::receive;
    record.needs[0].peer = record.needs[0].rank = from;
    std::strcpy(record.call, "MPI_Recv");
    Seen::Rank out = rank(number);
    out.threads.emplace_back(reinterpret_cast<const char*>(&thread), sizeof thread);
    return out;
  }
  std::string take(std::size_t agent, const Look& look, std::vector<Seen::Rank> ranks) {
    return hangs.take(agent, {look.number, now_ns(), std::move(ranks), {}});
  }
};

TEST_F(FarHangsTest, SpawnedRanksThatWaitForEachOther) {
  std::string report;
  for (int i = 0; i < 2; ++i, looks += 2) {
    const Look look = hangs.ask(spawned_on, false);
    EXPECT_EQ(report, "");
    EXPECT_EQ(take(1, look, {rank(1), receives(2, 3), receives(3, 2)}), "");
    report = take(0, look, {receives(0, 2)});
  }
  EXPECT_TRUE(hangs.is_hang());
  EXPECT_NE(report.find("ranks 0, 2 and 3 have been waiting"), std::string::npos) << report;
  EXPECT_NE(report.find("    ranks 2 and 3 are ranks 0 and 1 of 2 spawned, on b"),
            std::string::npos)
      << report;
  EXPECT_EQ(hangs.to_debug(), (std::vector<std::int32_t>{0, 2, 3}));
  EXPECT_EQ(hangs.node_of(0), 0);
  EXPECT_EQ(hangs.node_of(3), 1);
}

TEST_F(FarHangsTest, SpawnedRanksThatComputeAreWaitedFor) {
  for (const auto state : {hang::RankView::State::running, hang::RankView::State::not_initialized})
    for (int i = 0; i < 3; ++i, looks += 2) {
      const Look look = hangs.ask(spawned_on, false);
      Seen::Rank computes = rank(3);
      computes.state = static_cast<std::uint8_t>(state);
      EXPECT_EQ(take(0, look, {receives(0, 2)}), "");
      EXPECT_EQ(take(1, look, {receives(1, 0), receives(2, 3), computes}), "");
      EXPECT_FALSE(hangs.is_hang());
    }
}

TEST_F(FarHangsTest, RanksOfALostHostAreGone) {
  hangs.leave(1);
  std::string report;
  for (int i = 0; i < 2; ++i, looks += 2)
    report = take(0, hangs.ask(spawned_on, false), {receives(0, 3)});
  EXPECT_NE(report.find("rank 3 has finished and sends nothing"), std::string::npos) << report;
}

TEST_F(FarHangsTest, AnAnswerIsAboutAllOfItsRanks) {
  using Ranks = std::vector<Seen::Rank>;
  const Look look = hangs.ask(spawned_on, true);
  for (const Ranks& ranks :
       {Ranks{}, Ranks{rank(1)}, Ranks{rank(1), rank(2)}, Ranks{rank(1), rank(3), rank(2)},
        Ranks{rank(0), rank(2), rank(3)}, Ranks{rank(1), rank(2), rank(3), rank(4)}})
    EXPECT_THROW(take(1, look, ranks), Failure);
  EXPECT_THROW(take(1, look, {rank(1), receives(2, 4), rank(3)}), Failure);
  EXPECT_EQ(take(1, look, {rank(1), rank(2), rank(3)}), "");
  EXPECT_NE(take(0, look, {rank(0)}), "");
}

TEST_F(FarHangsTest, OneHostHasAllRanks) {
  options.hosts = {{"a", 4, 2}};
  FarHangs one(options);
  const Look look = one.ask({0, 0}, true);
  const std::vector<Seen::Rank> all = {rank(0), rank(1), rank(2), rank(3)};
  EXPECT_NE(one.take(0, {look.number, now_ns(), all, {}}), "");
}

TEST_F(FarHangsTest, APlaceHasAnotherHostTheNextTime) {
  hangs.ask(spawned_on, true);
  const Look look = hangs.ask({0, 1, 0}, true);
  EXPECT_EQ(take(0, look, {rank(0), rank(2), rank(4)}), "");
  EXPECT_NE(take(1, look, {rank(1), rank(3)}), "");
}

}  // namespace
}  // namespace weft::launch
