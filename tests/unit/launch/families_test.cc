// SPDX-License-Identifier: Apache-2.0
// Orders to spawn, which a std::thread listens for: which processes are started, what is answered,
// and what their ends mean.
#include "launch/families.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>

#include "launch/packing.h"
#include "launch/spawn_frames.h"

namespace weft::launch {
namespace {

using State = memory::Order::State;

constexpr int ranks = 2;  // that the job starts with
constexpr std::uint64_t serial = 7;

memory::Command command(int n, const std::string& program = "/bin/true") {
  memory::Command out;
  out.argv = {program};
  out.ranks = n;
  return out;
}

struct FamiliesTest : testing::Test, Families::Parent {
  struct Sent {
    FrameKind kind;
    std::string payload;
  };

  Options options = parse({"-n", "2", "/bin/true"});
  std::unique_ptr<memory::Job> job = make_job();
  std::string trouble;  // why processes cannot be started
  std::vector<std::vector<Process>> started;
  std::vector<memory::World> killed;
  std::vector<Sent> sent;
  std::uint64_t orders = 0;  // given so far

  static std::unique_ptr<memory::Job> make_job() {
    setenv("WEFT_SPAWN_PLACES", "4", 1);
    const Params params = Params::from_env(false);
    unsetenv("WEFT_SPAWN_PLACES");
    return std::unique_ptr<memory::Job>(memory::Job::create(ranks, 2, params).value);
  }

  std::string start_spawned(std::vector<Process> processes) override {
    started.push_back(std::move(processes));
    return trouble;
  }
  void kill_spawned(const memory::World& world) override { killed.push_back(world); }

  Families alone() { return {options, *job, *this, {}}; }
  Families of_agent() {
    return {options, *job, *this, [this](FrameKind kind, std::string_view payload) {
              sent.push_back({kind, std::string(payload)});
            }};
  }

  /// A rank's order, which is served.
  memory::Order& spawn(Families& families, const std::vector<memory::Command>& commands) {
    const std::uint64_t at =
        memory::give_order(*job, {++orders, 11, 12, 0, {0, 1}, commands}).value;
    serve(families);
    return memory::order_at(*job, at);
  }
  void serve(Families& families) {
    for (const std::uint64_t at : families.take()) families.serve(at);
  }
  /// An order that mpiexec has placed.
  std::uint64_t place(Families& families, int n) {
    const std::string zero(1, '\0');
    const std::string text =
        std::to_string(n) + zero + zero + zero + zero + zero + "1" + zero + "/bin/true" + zero;
    const std::uint64_t at = memory::place_order(*job, {serial, 11, 12, ranks, n, {0}, text}).value;
    job->occupy({ranks, n});
    memory::push_order(*job, at);
    serve(families);
    return at;
  }
  std::vector<FrameKind> kinds() {
    std::vector<FrameKind> out;
    for (const Sent& each : sent) out.push_back(each.kind);
    sent.clear();
    return out;
  }
  static State state(const memory::Order& order) {
    return order.state.load(std::memory_order_acquire);
  }
};

TEST_F(FamiliesTest, start_all_programs_of_an_order) {
  Families families = alone();
  EXPECT_GE(families.fd(), 0);
  const memory::Order& order = spawn(families, {command(1), command(2)});
  EXPECT_EQ(state(order), State::started);
  EXPECT_EQ(order.first, ranks);
  ASSERT_EQ(started.size(), 1u);
  ASSERT_EQ(started[0].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(started[0][static_cast<std::size_t>(i)].first, ranks + i);
    EXPECT_TRUE(started[0][static_cast<std::size_t>(i)].is_spawned);
    EXPECT_EQ(job->world_of(ranks + i), (memory::World{ranks, 3}));
  }
  EXPECT_TRUE(families.are_there());
}

TEST_F(FamiliesTest, give_their_places_back_with_the_last_process) {
  Families families = alone();
  spawn(families, {command(3)});
  const memory::Order& too_many = spawn(families, {command(2)});
  EXPECT_EQ(state(too_many), State::refused);
  EXPECT_NE(std::string(too_many.why).find("WEFT_SPAWN_PLACES"), std::string::npos);
  for (const int rank : {ranks + 2, ranks}) families.take_end(rank);
  EXPECT_TRUE(families.are_there());
  EXPECT_EQ(job->entry(ranks).state, memory::RankState::started);
  families.take_end(ranks + 1);
  EXPECT_FALSE(families.are_there());
  EXPECT_EQ(job->entry(ranks).state, memory::RankState::exited);
  EXPECT_EQ(spawn(families, {command(4)}).first, ranks);
  EXPECT_EQ(job->entry(ranks).incarnation, 1u);
}

TEST_F(FamiliesTest, are_refused_whole) {
  Families families = alone();
  const memory::Order& missing = spawn(families, {command(1), command(1, "/no/such/program")});
  EXPECT_EQ(state(missing), State::refused);
  EXPECT_NE(std::string(missing.why).find("/no/such/program"), std::string::npos);
  EXPECT_TRUE(started.empty());
  trouble = "true cannot be started: fork: no";
  const memory::Order& refused = spawn(families, {command(4)});
  EXPECT_EQ(state(refused), State::refused);
  EXPECT_EQ(std::string(refused.why), trouble);
  EXPECT_FALSE(families.are_there());
  trouble.clear();
  EXPECT_EQ(state(spawn(families, {command(4)})), State::started);  // none has a place yet
}

TEST_F(FamiliesTest, of_an_agent_are_placed_by_mpiexec) {
  Families families = of_agent();
  const memory::Order& order = spawn(families, {command(2)});
  EXPECT_EQ(state(order), State::given);
  EXPECT_TRUE(started.empty());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, FrameKind::spawn);
  const auto wanted = unpacked<Wanted>(sent[0].payload);
  EXPECT_EQ(wanted.world, 11u);
  EXPECT_EQ(wanted.parents, (std::vector<std::int32_t>{0, 1}));
  sent.clear();
  place(families, 2);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].size(), 2u);
  EXPECT_EQ(kinds(), (std::vector<FrameKind>{FrameKind::placed}));
  families.take_end(ranks);
  EXPECT_TRUE(sent.empty());
  families.take_end(ranks + 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, FrameKind::ended);
  EXPECT_EQ(unpacked<std::uint64_t>(sent[0].payload), serial);
  EXPECT_EQ(job->entry(ranks).state, memory::RankState::started);  // its agent vacates it
}

TEST_F(FamiliesTest, that_cannot_be_started_have_ended) {
  Families families = of_agent();
  trouble = "true cannot be started: fork: no";
  place(families, 2);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(unpacked<StartOutcome>(sent[0].payload).why, trouble);
  EXPECT_EQ(kinds(), (std::vector<FrameKind>{FrameKind::placed, FrameKind::ended}));
  EXPECT_FALSE(families.are_there());
}

TEST_F(FamiliesTest, that_are_withdrawn_are_killed_and_end_twice) {
  Families families = of_agent();
  const std::uint64_t at = place(families, 2);
  kinds();
  families.take_end(ranks);
  for (const bool run : {true, false}) {
    memory::order_at(*job, at).state.store(State::withdrawn, std::memory_order_relaxed);
    memory::push_order(*job, at);
    serve(families);
    EXPECT_EQ(kinds().size(), run ? 2u : 1u);  // of the ranks that ran, and of the withdrawal
    EXPECT_FALSE(families.are_there());
  }
  EXPECT_EQ(killed[0], (memory::World{ranks, 2}));
}

TEST_F(FamiliesTest, of_an_agent_ask_mpiexec_for_names) {
  Families families = of_agent();
  ASSERT_TRUE(memory::give_question(*job, 1, memory::Ask::find, "ocean", ""));
  serve(families);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, FrameKind::question);
  EXPECT_EQ(unpacked<Question>(sent[0].payload).name, "ocean");
}

}  // namespace
}  // namespace weft::launch
