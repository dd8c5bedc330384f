// SPDX-License-Identifier: Apache-2.0
#include "memory/job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

namespace weft::memory {
namespace {

TEST(Job, is_the_same_memory_for_whoever_opens_it) {
  const Result<Job*> made = Job::create(3, 2, Params::from_env(false));
  ASSERT_FALSE(made.err);
  std::unique_ptr<Job> job(made.value);
  const Result<Job*> opened = Job::open(dup(job->fd()));
  ASSERT_FALSE(opened.err);
  std::unique_ptr<Job> other(opened.value);
  EXPECT_EQ(other->size(), 3);
  job->entry(2).appnum = 7;
  EXPECT_EQ(other->entry(2).appnum, 7);
  const auto area = static_cast<std::ptrdiff_t>(job->header().area_bytes);
  EXPECT_EQ(job->area(1, 1) - job->area(1, 0), area);
  EXPECT_EQ(job->area(2, 0) - job->area(1, 0), area * job->header().contexts);
}

TEST(Job, refuses_a_file_that_is_no_job) {
  const int fd = open("/dev/zero", O_RDWR);
  const Result<Job*> job = Job::open(fd);
  EXPECT_TRUE(job.err);
  EXPECT_NE(last_error_text(job.err.cls), nullptr);
  close(fd);
}

std::unique_ptr<Job> new_job() {
  const Result<Job*> made = Job::create(1, 1, Params::from_env(false));
  EXPECT_FALSE(made.err);
  return std::unique_ptr<Job>(made.value);
}

TEST(Job, heap_reuses_what_is_left_and_hands_out_zeros) {
  const std::unique_ptr<Job> job = new_job();
  const std::uint64_t a = job->shared_block(1, 5000, 5000, 1);
  const std::uint64_t b = job->shared_block(2, 5000, 5000, 1);
  ASSERT_NE(a, 0u);
  EXPECT_GE(b, a + 8192);
  *job->at(a) = std::byte{42};
  job->leave_shared_block(a);
  const std::uint64_t c = job->shared_block(3, 6000, 6000, 1);
  EXPECT_EQ(c, a);
  EXPECT_EQ(*job->at(c), std::byte{0});
  for (int i = 0; i < 1000000; ++i) {
    const std::uint64_t block = job->shared_block(4, 64, 64, 1);
    ASSERT_NE(block, 0u);
    job->leave_shared_block(block);
  }
}

TEST(Job, a_shared_block_lasts_until_all_have_left) {
  const std::unique_ptr<Job> job = new_job();
  const std::uint64_t block = job->shared_block(7, 100, 100, 2);
  EXPECT_EQ(job->shared_block(7, 100, 100, 2), block);
  job->leave_shared_block(block);
  EXPECT_NE(job->shared_block(8, 100, 100, 1), block);
  job->leave_shared_block(block);
  EXPECT_EQ(job->shared_block(9, 100, 100, 1), block);
}

TEST(Job, what_does_not_fit_is_refused_to_all_and_may_fit_later) {
  const std::unique_ptr<Job> job = new_job();
  constexpr std::size_t large = 64 << 10;
  job->header().heap_bytes = large + 4096;
  const std::uint64_t whole = job->shared_block(1, large - 64, 64, 1);
  ASSERT_NE(whole, 0u);
  EXPECT_EQ(job->shared_block(2, large - 64, 64, 3), 0u);
  EXPECT_EQ(job->shared_block(2, large - 64, 64, 3), 0u);
  job->leave_shared_block(whole);
  EXPECT_EQ(job->shared_block(2, large - 64, 64, 3), 0u);  // like the others
  EXPECT_EQ(job->shared_block(2, large - 64, 64, 3), whole);
  // Not even a note of the refusal fits: for good.
  ASSERT_NE(job->shared_block(3, 64, 64, 2), 0u);
  EXPECT_EQ(job->shared_block(4, 64, 64, 2), 0u);
  job->leave_shared_block(whole);
  EXPECT_EQ(job->shared_block(4, 64, 64, 2), 0u);
  EXPECT_NE(job->shared_block(3, 64, 64, 2), 0u);
}

}  // namespace
}  // namespace weft::memory
