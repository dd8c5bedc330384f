// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "model/machine.h"
#include "unit/pt2pt/test_job.h"

namespace weft::pt2pt {
namespace {

constexpr std::int64_t length = 64 << 10;
constexpr int row = push_trial.row, longest_pause = push_trial.longest_pause;
constexpr int two_looks = push_trial.before_look + 2 * push_trial.rows * row + push_trial.pause;

/// What a message takes the program (ns), by how it goes.
struct Times {
  double offered, pushed;
};

/// Of one there and one back between two buffers of each rank.
Times written_anew(const model::Level& level) {
  const double lines = model::lines_of(length) * 1e9;
  // Each side copies half of it. The other half's lines come back to be written again, and are
  // elsewhere when they are read.
  const double each = level.b + level.back() + level.arrived();
  return {lines / 2 * each, lines * (model::built_in().copy + level.b)};
}
Times left_alone(const model::Level& level) {
  const double lines = model::lines_of(length) * 1e9;
  return {lines / 2 * model::built_in().copy, lines * (model::built_in().copy + level.b)};
}

struct Program {
  Trial<push_trial> trial;
  double now_ns = 0;

  /// So many messages; how many of them were pushed. Every `disturbed`th takes ten times as long.
  int run(int messages, Times times, int disturbed = 0) {
    int pushed = 0;
    for (int i = 1; i <= messages; ++i) {
      const auto clock = [this] { return static_cast<std::int64_t>(now_ns); };
      const bool is_pushed = trial.next(length, clock);
      pushed += is_pushed;
      now_ns += (is_pushed ? times.pushed : times.offered) *
                (disturbed > 0 && i % disturbed == 0 ? 10 : 1);
    }
    return pushed;
  }
  bool pushes(Times times) { return run(100, times) == 100; }
};

TEST(PushTrial, FollowsFromWhatALineCosts) {
  const model::Level near = model::built_in().at("L3Cache"), far = model::built_in().at("NUMANode");
  Program program;
  program.run(two_looks, written_anew(near));
  EXPECT_FALSE(program.pushes(written_anew(near)));
  program.run(2 * longest_pause, written_anew(far));  // the machine has changed
  EXPECT_TRUE(program.pushes(written_anew(far)));
  program.run(2 * longest_pause, left_alone(far));  // the program has
  EXPECT_FALSE(program.pushes(left_alone(far)));
}

TEST(PushTrial, AProgramThatDoesOtherThingsMeanwhileDecidesNothing) {
  Program program;
  EXPECT_EQ(program.run(two_looks, {1'000'000, 999'000}), 2 * row);
  EXPECT_FALSE(program.pushes({1'000'000, 999'000}));
}

TEST(PushTrial, WhatDisturbsARowDecidesNothing) {
  for (int every = 5; every < 300; ++every) {
    Program slower, faster;
    EXPECT_LT(slower.run(5 * longest_pause, {1000, 1500}, every), longest_pause / 20) << every;
    faster.run(5 * longest_pause, {1500, 1000}, every);
    EXPECT_TRUE(faster.pushes({1500, 1000})) << every;
  }
}

TEST(PushTrial, LooksGetFewer) {
  Program program;
  program.run(5 * longest_pause, {1000, 3000});
  EXPECT_LE(program.run(10 * longest_pause, {1000, 3000}), 10 * row);
}

TEST(PushTrials, OneForEachPowerOfTwo) {
  PushTrials trials;
  EXPECT_EQ(&trials.of(eager_in_process + 1), trials.lengths);
  EXPECT_EQ(&trials.of(2 * eager_in_process), trials.lengths);
  EXPECT_EQ(&trials.of(2 * eager_in_process + 1), trials.lengths + 1);
  EXPECT_EQ(&trials.of(pushed_in_process), std::end(trials.lengths) - 1);
  EXPECT_EQ(&trials.of(4 * pushed_in_process), std::end(trials.lengths) - 1);
}

/// Two ranks of one process, in one thread.
struct BlockingSend : testing::Test {
  std::vector<std::byte> out = std::vector<std::byte>(length), in = out;

  void open(TestJob& job) {
    for (auto& rank : job.ranks) rank->engine.ranks_here = 2;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  static TestJob::Environment environment(const char* eager_max) {
    return {{"WEFT_SHM_RING_BYTES", "262144"}, {"WEFT_PT2PT_EAGER_MAX", eager_max}};
  }
};

TEST_F(BlockingSend, DoesNotAskWherePushingIsFaster) {
  TestJob job(2, false, environment("-1"));
  open(job);
  Engine &from = job.ranks[0]->engine, &to = job.ranks[1]->engine;
  Peer& peer = from.peer(1);
  Program program;
  program.run(two_looks, {4000, 2000});
  peer.trials = std::make_unique<PushTrials>();
  peer.trials->of(length) = program.trial;

  ASSERT_FALSE(send({out.data(), length, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard));
  EXPECT_EQ(from.offers(), 0u);  // and nobody has received
  ASSERT_FALSE(recv({in.data(), length, byte_type()}, 0, 1, job.ranks[1]->comm, MPI_STATUS_IGNORE));
  EXPECT_EQ(in, out);
  EXPECT_TRUE(to.left.empty());

  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_FALSE(
      isend({out.data(), length, byte_type()}, 1, 1, job.ranks[0]->comm, Mode::standard, &request));
  EXPECT_EQ(from.offers(), 1u) << "what a nonblocking send takes is not seen";
  ASSERT_FALSE(recv({in.data(), length, byte_type()}, 0, 1, job.ranks[1]->comm, MPI_STATUS_IGNORE));
  EXPECT_FALSE(wait(&request, MPI_STATUS_IGNORE));
}

TEST_F(BlockingSend, AGivenLimitIsKept) {
  TestJob job(2, false, environment("32768"));
  open(job);
  EXPECT_FALSE(job.ranks[0]->engine.peer(1).tries_push);
}

}  // namespace
}  // namespace weft::pt2pt
