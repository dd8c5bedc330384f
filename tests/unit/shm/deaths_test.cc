// SPDX-License-Identifier: Apache-2.0
// Ranks that die: who goes on, and what the others find.
#include "shm/deaths.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/params.h"

namespace weft::shm {
namespace {

using memory::RankState;

struct Deaths : testing::Test {
  void SetUp() override {
    const Result<memory::Job*> made = memory::Job::create(4, 2, Params::from_env(false));
    ASSERT_TRUE(made);
    job.reset(made.value);
    for (int r = 0; r < 4; ++r) {
      job->entry(r).state = RankState::initialized;
      job->entry(r).survives = 1;
    }
  }
  bool goes_on_without_3() {
    return all_survive(
        *job, {3, 1}, [](const void*, int rank) { return rank < first_elsewhere; }, nullptr);
  }
  std::unique_ptr<memory::Job> job;
  static inline int first_elsewhere;
};

TEST_F(Deaths, others_go_on_if_the_errors_of_all_return) {
  first_elsewhere = 4;
  EXPECT_TRUE(goes_on_without_3());
  job->entry(3).survives = 0;  // it is about the others
  EXPECT_TRUE(goes_on_without_3());
  job->entry(1).survives = 0;
  EXPECT_FALSE(goes_on_without_3());
  first_elsewhere = 1;  // 1 is asked on its own node
  EXPECT_TRUE(goes_on_without_3());
}

TEST_F(Deaths, who_has_finished_is_not_asked_and_who_has_not_begun_cannot) {
  first_elsewhere = 4;
  job->entry(1).survives = 0;
  job->entry(1).state = RankState::finalized;
  EXPECT_TRUE(goes_on_without_3());
  job->entry(1).state = RankState::started;
  EXPECT_FALSE(goes_on_without_3());
}

TEST_F(Deaths, are_told_once_with_a_sentence) {
  EXPECT_FALSE(has_deaths(*job));
  mark_dead(*job, {2, 2}, "how it was");
  EXPECT_TRUE(has_deaths(*job));
  EXPECT_FALSE(is_dead(*job, 1));
  EXPECT_TRUE(is_dead(*job, 2));
  EXPECT_TRUE(is_dead(*job, 3));
  mark_dead(*job, {3, 1}, "something else");
  EXPECT_STREQ(job->message(3), "how it was");
}

}  // namespace
}  // namespace weft::shm
