// SPDX-License-Identifier: Apache-2.0
// What mpiexec answers agents whose ranks spawn ranks, in whatever order they speak.
#include "launch/spawner.h"

#include <gtest/gtest.h>

#include "launch/packing.h"

namespace weft::launch {
namespace {

struct Sent {
  int node;
  FrameKind kind;
  std::string payload;
};

struct SpawnerTest : testing::Test {
  Options options = [] {
    Options out;
    out.programs.resize(1);
    out.programs[0].ranks = 2;
    out.hosts = {{"a", 1, 1}, {"b", 1, 1}};
    return out;
  }();
  std::vector<Sent> sent;
  int blocks = 0;  // frames for all
  std::string failure;
  Spawner spawner{options,
                  [this](int node, FrameKind kind, std::string_view payload) {
                    sent.push_back({node, kind, std::string(payload)});
                  },
                  [this](FrameKind kind, std::string_view payload) {
                    ++blocks;
                    for (const int node : {0, 1})
                      sent.push_back({node, kind, std::string(payload)});
                  },
                  [this](const std::string& why) { failure = why; }};

  void SetUp() override { spawner.begun(12); }

  template <class T>
  void say(int node, FrameKind kind, const T& value) {
    spawner.take(node, {kind, packed(value)});
  }
  /// As a rank's order has it: ranks, directory, path, mode, hosts, words.
  void spawn(int node, int ranks) {
    const std::string zero(1, '\0');
    const std::string text =
        std::to_string(ranks) + zero + zero + zero + zero + zero + "1" + zero + "program" + zero;
    say(node, FrameKind::spawn, Wanted{64, 7, 8, {0, 1}, text});
  }
  /// How many frames of a kind went to a node; they are forgotten.
  std::vector<std::string> take(int node, FrameKind kind) {
    std::vector<std::string> out;
    std::erase_if(sent, [&](const Sent& s) {
      if (s.node != node || s.kind != kind) return false;
      out.push_back(s.payload);
      return true;
    });
    return out;
  }
};

constexpr std::uint64_t first = 1;

TEST_F(SpawnerTest, all_answer_before_who_asked_is_told) {
  spawn(1, 2);
  for (const int node : {0, 1}) {
    const std::vector<std::string> placed = take(node, FrameKind::place);
    ASSERT_EQ(placed.size(), 1u);
    const auto placement = unpacked<Placement>(placed[0]);
    EXPECT_EQ(placement.first, 2);
    EXPECT_EQ(placement.node_of, (std::vector<std::int32_t>{0, 1}));
    EXPECT_EQ(placement.parents, (std::vector<std::int32_t>{0, 1}));
  }
  say(0, FrameKind::placed, StartOutcome{first, ""});
  EXPECT_TRUE(take(1, FrameKind::answer).empty());
  say(1, FrameKind::placed, StartOutcome{first, ""});
  const std::vector<std::string> answers = take(1, FrameKind::answer);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(unpacked<Answer>(answers[0]).is_granted);
  EXPECT_EQ(unpacked<Answer>(answers[0]).first, 2);
  EXPECT_TRUE(sent.empty());
}

TEST_F(SpawnerTest, addresses_are_everywhere_before_a_rank_goes_on) {
  spawn(0, 2);
  say(1, FrameKind::told, Told{first, {{3, "there"}}});
  EXPECT_TRUE(take(0, FrameKind::told).empty());
  const int before = blocks;
  say(0, FrameKind::told, Told{first, {{2, "here"}}});
  EXPECT_EQ(blocks, before + 1);
  for (const int node : {0, 1}) {
    const std::vector<std::string> told = take(node, FrameKind::told);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(unpacked<Told>(told[0]).addresses.size(), 2u);
  }
  say(0, FrameKind::known, first);
  EXPECT_TRUE(take(0, FrameKind::reached).empty());
  say(1, FrameKind::known, first);
  EXPECT_EQ(take(0, FrameKind::reached).size(), 1u);
  EXPECT_EQ(take(1, FrameKind::reached).size(), 1u);
}

TEST_F(SpawnerTest, what_starts_on_one_host_only_ends) {
  spawn(0, 2);
  say(1, FrameKind::placed, StartOutcome{first, "there is no program"});
  say(1, FrameKind::ended, first);
  EXPECT_TRUE(take(0, FrameKind::answer).empty());
  say(0, FrameKind::placed, StartOutcome{first, ""});
  const std::vector<std::string> answers = take(0, FrameKind::answer);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_FALSE(unpacked<Answer>(answers[0]).is_granted);
  EXPECT_EQ(unpacked<Answer>(answers[0]).text, "there is no program");
  EXPECT_EQ(take(0, FrameKind::withdraw).size(), 1u);
  EXPECT_TRUE(take(1, FrameKind::withdraw).empty());
  for (int i = 0; i < 2; ++i) {  // its ranks end, and it has heard of the withdrawal
    EXPECT_TRUE(take(0, FrameKind::vacate).empty());
    say(0, FrameKind::ended, first);
  }
  EXPECT_EQ(take(0, FrameKind::vacate).size(), 1u);
  EXPECT_EQ(take(1, FrameKind::vacate).size(), 1u);
  EXPECT_EQ(failure, "");
}

TEST_F(SpawnerTest, workers_are_dismissed_when_nobody_is_left) {
  spawn(0, 1);
  say(0, FrameKind::ended, std::uint64_t{0});
  say(1, FrameKind::ended, std::uint64_t{0});
  for (const int node : {0, 1}) say(node, FrameKind::placed, StartOutcome{first, ""});
  EXPECT_TRUE(take(0, FrameKind::dismiss).empty());
  say(0, FrameKind::ended, first);
  EXPECT_EQ(take(0, FrameKind::dismiss).size(), 1u);
  EXPECT_EQ(take(1, FrameKind::dismiss).size(), 1u);
}

TEST_F(SpawnerTest, a_rank_without_mpi_fails_a_job_that_waits_for_it) {
  spawn(0, 2);
  for (const int node : {0, 1}) say(node, FrameKind::placed, StartOutcome{first, ""});
  say(0, FrameKind::ended, first);
  EXPECT_EQ(failure, "");
  say(1, FrameKind::told, Told{first, {{3, "there"}}});
  EXPECT_NE(failure.find("without calling MPI_Init"), std::string::npos) << failure;
}

TEST_F(SpawnerTest, there_is_no_room) {
  spawn(0, 11);
  const std::vector<std::string> answers = take(0, FrameKind::answer);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_NE(unpacked<Answer>(answers[0]).text.find("WEFT_SPAWN_PLACES"), std::string::npos);
  EXPECT_TRUE(sent.empty());
}

TEST_F(SpawnerTest, names_are_known_on_all_hosts) {
  const auto ask = [&](int node, memory::Ask what, const std::string& value) {
    say(node, FrameKind::question, Question{5, static_cast<std::uint32_t>(what), "name", value});
    const std::vector<std::string> answers = take(node, FrameKind::answer);
    const auto answer = unpacked<Answer>(answers.at(0));
    return answer.is_granted ? "yes " + answer.text : "no";
  };
  EXPECT_EQ(ask(0, memory::Ask::find, ""), "no");
  EXPECT_EQ(ask(0, memory::Ask::add, "port"), "yes ");
  EXPECT_EQ(ask(1, memory::Ask::add, "other"), "no");
  EXPECT_EQ(ask(1, memory::Ask::find, ""), "yes port");
  EXPECT_EQ(ask(1, memory::Ask::remove, "other"), "no");
  EXPECT_EQ(ask(1, memory::Ask::remove, "port"), "yes ");
  EXPECT_EQ(ask(0, memory::Ask::find, ""), "no");
}

TEST_F(SpawnerTest, what_cannot_be_is_refused) {
  EXPECT_THROW(say(0, FrameKind::placed, StartOutcome{9, ""}), Failure);
  EXPECT_THROW(say(0, FrameKind::ended, std::uint64_t{9}), Failure);
  EXPECT_THROW(say(0, FrameKind::question, Question{5, 9, "name", ""}), Failure);
  EXPECT_THROW(say(0, FrameKind::place, Placement{}), Failure);
  spawn(0, 1);
  EXPECT_THROW(say(0, FrameKind::told, Told{first, {{1, "of the start"}}}), Failure);
}

}  // namespace
}  // namespace weft::launch
