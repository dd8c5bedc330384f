// SPDX-License-Identifier: Apache-2.0
#include "launch/hangs.h"

#include <gtest/gtest.h>

namespace weft::launch {
namespace {

TEST(Hangs, OneRankOfEachProcessIsDebugged) {
  hang::Finding finding;
  for (const std::int32_t pid : {7, 7, 8, 9, 9}) finding.view.ranks.emplace_back().pid = pid;
  finding.analysis.stuck = {{false}, {true}, {}, {true, false}, {true}};
  EXPECT_EQ(whom_to_debug(finding), (std::vector<std::int32_t>{1, 3}));
  for (std::int32_t pid = 10; pid < 100; ++pid) {
    finding.view.ranks.emplace_back().pid = pid;
    finding.analysis.stuck.push_back({true});
  }
  EXPECT_EQ(whom_to_debug(finding).size(), 8u);
}

}  // namespace
}  // namespace weft::launch
