// SPDX-License-Identifier: Apache-2.0
// Which ranks get a progress thread.
#include <gtest/gtest.h>

#include <cstdlib>

#include "progress/threads.h"

namespace weft::progress {
namespace {

struct Case {
  const char* threads;
  topo::SeatRecord seat{};
  unsigned cpus = 4, ranks = 2;
  int openmp = 0;
};

bool wanted(const Case& c) {
  setenv("WEFT_PROGRESS", c.threads, 1);
  const Params params = Params::from_env(false);
  unsetenv("WEFT_PROGRESS");
  memory::JobHeader job{};
  job.cpus = c.cpus;
  job.sharing = c.ranks;
  return is_wanted(params, c.seat, job, c.openmp);
}

TEST(Wanted, AsAsked) {
  EXPECT_FALSE(wanted({.threads = "off", .seat = {.cores = 2, .idle = true}}));
  for (const char* threads : {"rank", "group", "node"})
    EXPECT_TRUE(wanted({.threads = threads, .cpus = 1}));
}

TEST(Wanted, AutoNeedsAnIdleCore) {
  EXPECT_FALSE(wanted({.threads = "auto", .seat = {.cores = 1}}));
  EXPECT_TRUE(wanted({.threads = "auto", .seat = {.cores = 1, .idle = true}}));
  EXPECT_TRUE(wanted({.threads = "auto", .seat = {.cores = 1, .network_only = true}}));
}

TEST(Wanted, AutoLeavesOpenmpItsCores) {
  const topo::SeatRecord own{.cores = 2, .idle = true, .own = true};
  EXPECT_TRUE(wanted({.threads = "auto", .seat = own}));
  EXPECT_TRUE(wanted({.threads = "auto", .seat = own, .openmp = 1}));
  EXPECT_FALSE(wanted({.threads = "auto", .seat = own, .openmp = 2}));
  EXPECT_TRUE(wanted({.threads = "auto", .seat = {.cores = 2, .idle = true}, .openmp = 2}));
}

TEST(Wanted, AutoWhereNobodyKnowsCores) {
  EXPECT_TRUE(wanted({.threads = "auto", .cpus = 4, .ranks = 2}));
  EXPECT_FALSE(wanted({.threads = "auto", .cpus = 2, .ranks = 2}));
}

}  // namespace
}  // namespace weft::progress
