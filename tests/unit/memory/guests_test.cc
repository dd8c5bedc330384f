// SPDX-License-Identifier: Apache-2.0
#include "memory/guests.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>

#include "memory/addresses.h"

namespace weft::memory {
namespace {

struct GuestsTest : testing::Test {
  static std::unique_ptr<Job> make(int ranks, const char* guests) {
    setenv("WEFT_SPAWN_GUESTS", guests, 1);
    const Result<Job*> made = Job::create(ranks, 1, Params::from_env(false));
    unsetenv("WEFT_SPAWN_GUESTS");
    EXPECT_FALSE(made.err);
    return std::unique_ptr<Job>(made.value);
  }
  std::unique_ptr<Job> job = make(2, "2"), other = make(3, "2");
  Result<std::int32_t> admit_other(int rank) {
    return admit(*job, who_is(*other, rank), "host@12,34");
  }
};

TEST_F(GuestsTest, have_a_place_of_their_own_and_one_name_everywhere) {
  EXPECT_FALSE(job->has_guests());
  const Result<std::int32_t> place = admit_other(0);
  ASSERT_TRUE(place);
  EXPECT_EQ(place.value, job->places());
  EXPECT_TRUE(job->is_guest(place.value));
  EXPECT_TRUE(job->has_guest({0, 1, place.value}));
  EXPECT_FALSE(job->are_together(0, {0, 1, place.value}));
  EXPECT_NE(job->world_of(place.value), job->world_of(0));
  EXPECT_EQ(addresses_of(*job, place.value), "host@12,34");
  EXPECT_EQ(name_of(*job, place.value), name_of(*other, 0));
  EXPECT_EQ(find_guest(*job, name_of(*other, 0)), place.value);
  EXPECT_EQ(find_guest(*job, name_of(*other, 1)), -1);
  EXPECT_NE(name_of(*job, 0), name_of(*other, 0));
}

TEST_F(GuestsTest, are_at_home_in_their_own_job) {
  const Result<std::int32_t> place = admit(*job, who_is(*job, 1), "");
  ASSERT_TRUE(place);
  EXPECT_EQ(place.value, 1);
  Guest gone = who_is(*job, 1);
  ++gone.incarnation;
  EXPECT_FALSE(admit(*job, gone, ""));
}

TEST_F(GuestsTest, share_a_key_that_follows_from_both_jobs) {
  const std::int32_t there = admit_other(0).value;
  const std::int32_t here = admit(*other, who_is(*job, 0), "host@56").value;
  EXPECT_EQ(key_with(*job, there), key_with(*other, here));
  const std::unique_ptr<Job> third = make(1, "2");
  EXPECT_NE(key_with(*job, there), key_with(*third, admit(*third, who_is(*other, 0), "a@1").value));
}

TEST_F(GuestsTest, stay_until_their_job_has_ended_and_nobody_has_them) {
  const std::int32_t first = admit_other(0).value;
  drop_user(*job, first);
  EXPECT_EQ(admit_other(0).value, first);  // still known
  const std::int32_t second = admit_other(1).value;
  EXPECT_NE(second, first);
  EXPECT_FALSE(admit_other(2));
  EXPECT_NE(std::string(last_error_text(MPI_ERR_OTHER)).find("WEFT_SPAWN_GUESTS"),
            std::string::npos);
  drop_user(*job, first);
  const Guest ended = who_is(*other, 0);
  EXPECT_EQ(world_has_ended(*job, ended.job, ended.world, GuestEnd::goodbye),
            std::vector<std::int32_t>{second});
  EXPECT_TRUE(has_ended(*job, first));
  const std::unique_ptr<Job> third = make(1, "2");
  const Result<std::int32_t> next = admit(*job, who_is(*third, 0), "host@78");
  ASSERT_TRUE(next);
  EXPECT_EQ(next.value, first);
  EXPECT_FALSE(has_ended(*job, first));
  EXPECT_EQ(job->entry(first).incarnation, 1U);
  EXPECT_EQ(addresses_of(*job, first), "host@78");
}

}  // namespace
}  // namespace weft::memory
