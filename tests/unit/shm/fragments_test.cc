// SPDX-License-Identifier: Apache-2.0
#include "shm/fragments.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace weft::shm {
namespace {

struct Pool : testing::Test {
  std::unique_ptr<memory::Job> job;
  Fragments fragments;
  Pool() {
    const Result<memory::Job*> made = memory::Job::create(2, 2, Params::from_env(false));
    EXPECT_FALSE(made.err);
    job.reset(made.value);
    fragments.open(*job, 4 * Fragments::bytes);
  }
};

TEST_F(Pool, has_fragments_that_do_not_overlap) {
  job->extend(100);  // what follows is not on a page of its own
  std::set<std::byte*> places;
  while (fragments.has_one()) {
    const std::uint32_t name = fragments.take();
    EXPECT_TRUE(fragments.is_own(name));
    EXPECT_EQ(job->offset_of(fragments.at(name)) % 4096, 0u);
    places.insert(fragments.at(name));
  }
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(*places.rbegin() - *places.begin(), 3 * static_cast<std::ptrdiff_t>(Fragments::bytes));
}

TEST_F(Pool, hands_out_first_what_came_home_first) {
  ASSERT_TRUE(fragments.has_one());
  const std::uint32_t first = fragments.take(), second = fragments.take();
  fragments.give(second);
  fragments.give(first);
  fragments.take();
  fragments.take();
  EXPECT_EQ(fragments.take(), second);
  EXPECT_EQ(fragments.take(), first);
  EXPECT_FALSE(fragments.has_one());
}

TEST_F(Pool, hands_out_before_all_what_was_read_here) {
  ASSERT_TRUE(fragments.has_one());
  EXPECT_TRUE(fragments.is_new());
  const std::uint32_t first = fragments.take(), second = fragments.take();
  fragments.give(first);
  EXPECT_FALSE(fragments.is_warm());
  fragments.give_warm(second);
  EXPECT_TRUE(fragments.is_warm());
  EXPECT_FALSE(fragments.is_new());
  EXPECT_EQ(fragments.take(), second);
  EXPECT_FALSE(fragments.is_warm());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(fragments.is_new());
    fragments.take();
  }
  EXPECT_FALSE(fragments.is_new()) << "the next has been used before";
  EXPECT_EQ(fragments.take(), first);
}

TEST_F(Pool, knows_those_of_another_context) {
  Fragments other;
  other.open(*job, 4 * Fragments::bytes);
  ASSERT_TRUE(fragments.has_one());
  EXPECT_FALSE(other.is_own(fragments.take())) << "it has none yet";
  ASSERT_TRUE(other.has_one());
  EXPECT_FALSE(fragments.is_own(other.take()));
}

TEST_F(Pool, may_be_empty) {
  Fragments none;
  none.open(*job, 0);
  EXPECT_FALSE(none.has_one());
  EXPECT_FALSE(none.is_own(1));
}

TEST(BorrowedFragments, the_last_one_read_is_written_first) {
  Borrowed here;
  for (std::uint32_t name = 1; name <= 3; ++name) here.keep(name, Borrowed::most);
  EXPECT_EQ(here.take(), 3u);
  EXPECT_EQ(here.take(), 2u);
  EXPECT_TRUE(here.has_one());
  EXPECT_TRUE(here.back.empty());
}

TEST(BorrowedFragments, the_oldest_go_back) {
  constexpr std::uint32_t last = Borrowed::most + 5;
  Borrowed here;
  for (std::uint32_t name = 1; name < last; ++name) here.keep(name, Borrowed::most);
  EXPECT_EQ(here.back, (std::vector<std::uint32_t>{1, 2, 3, 4}));
  here.keep(last, 2);
  EXPECT_EQ(here.back.size(), last - 2);
  EXPECT_EQ(here.back.back(), last - 2);
  here.drop_all();
  EXPECT_FALSE(here.has_one());
  EXPECT_EQ(here.back.size(), last);
}

}  // namespace
}  // namespace weft::shm
