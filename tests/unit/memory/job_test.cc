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

TEST(Job, heap_reuses_what_is_freed_and_hands_out_zeros) {
  const Result<Job*> made = Job::create(1, 1, Params::from_env(false));
  ASSERT_FALSE(made.err);
  std::unique_ptr<Job> job(made.value);
  const std::uint64_t a = job->heap_allocate(5000);
  const std::uint64_t b = job->heap_allocate(5000);
  ASSERT_NE(a, 0u);
  EXPECT_GE(b, a + 8192);
  *job->at(a) = std::byte{42};
  job->heap_free(a, 5000);
  const std::uint64_t c = job->heap_allocate(6000);
  EXPECT_EQ(c, a);
  EXPECT_EQ(*job->at(c), std::byte{0});
  for (int i = 0; i < 1000000; ++i) job->heap_free(job->heap_allocate(4096), 4096);
}

}  // namespace
}  // namespace weft::memory
