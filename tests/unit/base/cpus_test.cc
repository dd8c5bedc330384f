// SPDX-License-Identifier: Apache-2.0
#include "base/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace weft {
namespace {

using List = std::vector<int>;

TEST(Cpus, AListIsTheKernelsForm) {
  EXPECT_EQ(cpu_list(List{8, 0, 1, 2, 3, 5, 6}), "0-3,5,6,8");
  EXPECT_EQ(cpu_list({}), "");
}

TEST(Cpus, AListIsReadAsItWasWritten) {
  for (const List& cpus : {List{}, List{0}, List{7}, List{0, 1}, List{0, 1, 2, 3, 8, 64, 65, 1023}})
    EXPECT_EQ(cpus_in(cpu_list(cpus)), cpus);
}

TEST(Cpus, WhatIsNoListHasNone) {
  for (const char* text : {"?", ",", "1,", "1-", "-1", "3-1", "2,1", "1,1", "1 2", "0-9999999",
                           "99999999999999999999", "1-2-3", "0x1"})
    EXPECT_EQ(cpus_in(text), List{}) << text;
}

TEST(Cpus, OneInCommonIsShared) {
  EXPECT_TRUE(may_share_cpus(List{0, 1, 2}, List{2, 3}));
  EXPECT_FALSE(may_share_cpus(List{0, 1}, List{2, 3}));
  EXPECT_TRUE(may_share_cpus(List{}, List{2, 3})) << "nobody knows";
}

TEST(Cpus, ABoundThreadIsAllowedItsOwn) {
  const List all = allowed_cpus();
  ASSERT_FALSE(all.empty());
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), static_cast<int>(all.size()));
  List seen;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(all.back()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    seen = allowed_cpus();
  }).join();
  EXPECT_EQ(seen, List{all.back()});
}

}  // namespace
}  // namespace weft
