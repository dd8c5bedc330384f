// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rma/limits.h"

namespace weft::rma {
namespace {

constexpr std::int64_t length = 4 << 20;

struct Program {
  Trial<help_trial> trial;
  std::int64_t now_ns = 0;

  /// So many copies; how many of them were done alone.
  int run(int copies, std::int64_t helped_ns, std::int64_t alone_ns) {
    int alone = 0;
    for (int i = 0; i < copies; ++i) {
      const bool is_alone = trial.next(length, [this] { return now_ns; });
      alone += is_alone;
      now_ns += is_alone ? alone_ns : helped_ns;
    }
    return alone;
  }
};

TEST(HelpTrial, AHelpThatCostsMoreIsDoneWithoutAfterOneLook) {
  Program program;
  constexpr int one_look = help_trial.before_look + help_trial.rows * help_trial.row;
  program.run(one_look, 316'000, 99'000);
  EXPECT_EQ(program.run(help_trial.pause - 1, 316'000, 99'000), help_trial.pause - 1);
}

TEST(HelpTrial, LooksTakeOnePercentIfAloneTakesFiveTimesAsLong) {
  Program program;
  EXPECT_LE(program.run(300, 100'000, 500'000), 16);
  program.run(6 * help_trial.longest_pause, 100'000, 500'000);
  const int copies = 10 * help_trial.longest_pause;
  const std::int64_t began = program.now_ns;
  program.run(copies, 100'000, 500'000);
  EXPECT_LT(program.now_ns - began, copies * std::int64_t{101'000});
}

TEST(HelpTrial, WithoutADifferenceHelpStays) {
  Program program;
  program.run(6 * help_trial.longest_pause, 100'000, 100'000);
  EXPECT_EQ(program.run(100, 100'000, 100'000), 0);
}

}  // namespace
}  // namespace weft::rma
