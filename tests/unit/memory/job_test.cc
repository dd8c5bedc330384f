// SPDX-License-Identifier: Apache-2.0
#include "memory/job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

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

TEST(Job, has_places_for_all_the_universe) {
  const Params params = Params::from_env(false);
  for (const auto& [universe, places] :
       {std::pair{0, 67}, {50, 67}, {100, 100}, {1 << 16, 3 + (4 << 10)}}) {
    const Result<Job*> made = Job::create(3, 2, params, {}, universe);
    ASSERT_FALSE(made.err);
    const std::unique_ptr<Job> job(made.value);
    EXPECT_EQ(job->places(), places);
    EXPECT_EQ(job->header().universe, static_cast<std::uint32_t>(universe > 0 ? universe : 2));
  }
}

TEST(Job, has_the_cpus_of_all_its_ranks) {
  const Result<Job*> made = Job::create(3, 0, Params::from_env(false), {}, 3);
  ASSERT_FALSE(made.err);
  const std::unique_ptr<Job> job(made.value);
  job->add_cpus(std::vector{0, 1});
  EXPECT_EQ(job->cpus(), 2);
  job->add_cpus(std::vector{1, 64, 4095});
  EXPECT_EQ(job->cpus(), 4);
  job->add_cpus(std::vector{0, 64});
  EXPECT_EQ(job->cpus(), 4);
  job->header().cpu_quota = 6;
  job->add_cpus(std::vector{2, 3, 4});
  EXPECT_EQ(job->cpus(), 6);
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

TEST(Job, is_extended_without_end) {
  const std::unique_ptr<Job> job = new_job();
  const Result<Job*> opened = Job::open(dup(job->fd()));
  ASSERT_FALSE(opened.err);
  const std::unique_ptr<Job> other(opened.value);
  // Of all sizes up to several extents, never overlapping, the same for everybody.
  std::uint64_t end = 0;
  std::vector<std::uint64_t> all;
  for (const std::size_t bytes :
       {100UL, 64UL, 1UL << 20, 15UL << 20, 3UL << 20, 200UL << 20, 100UL}) {
    const std::uint64_t at = job->extend(bytes);
    ASSERT_NE(at, 0u);
    EXPECT_EQ(at % 64, 0u);
    EXPECT_GE(at, end);
    end = at + bytes;
    EXPECT_EQ(std::to_integer<int>(*job->at(end - 1)), 0);
    *job->at(at) = std::byte{1};
    *job->at(end - 1) = std::byte{2};
    EXPECT_EQ(std::to_integer<int>(*other->at(at)), 1);
    EXPECT_EQ(std::to_integer<int>(*other->at(end - 1)), 2);
  }
}

TEST(Job, is_not_extended_where_its_file_is_gone) {
  const std::unique_ptr<Job> job = new_job();
  const int another = open("/dev/null", O_RDWR);
  const int kept = dup(job->fd());
  ASSERT_EQ(dup2(another, job->fd()), job->fd());  // the program closed it and opened another
  EXPECT_EQ(job->extend(100), 0u);
  EXPECT_EQ(errno, EBADF);
  ASSERT_EQ(dup2(kept, job->fd()), job->fd());
  EXPECT_NE(job->extend(100), 0u);
  close(kept);
  close(another);
}

TEST(Job, heap_reuses_what_is_left_and_hands_out_zeros) {
  const std::unique_ptr<Job> job = new_job();
  const std::uint64_t a = job->shared_block({1, 0}, 5000, 5000, 1);
  const std::uint64_t b = job->shared_block({2, 0}, 5000, 5000, 1);
  ASSERT_NE(a, 0u);
  EXPECT_GE(b, a + 8192);
  *job->at(a) = std::byte{42};
  job->leave_shared_block(a);
  const std::uint64_t c = job->shared_block({3, 0}, 6000, 6000, 1);
  EXPECT_EQ(c, a);
  EXPECT_EQ(*job->at(c), std::byte{0});
  for (int i = 0; i < 1000000; ++i) {
    const std::uint64_t block = job->shared_block({4, 0}, 64, 64, 1);
    ASSERT_NE(block, 0u);
    job->leave_shared_block(block);
  }
}

TEST(Job, a_shared_block_lasts_until_all_have_left) {
  const std::unique_ptr<Job> job = new_job();
  const std::uint64_t block = job->shared_block({7, 0}, 100, 100, 2);
  EXPECT_EQ(job->shared_block({7, 0}, 100, 100, 2), block);
  job->leave_shared_block(block);
  EXPECT_NE(job->shared_block({8, 0}, 100, 100, 1), block);
  job->leave_shared_block(block);
  EXPECT_EQ(job->shared_block({9, 0}, 100, 100, 1), block);
}

TEST(Job, what_does_not_fit_is_refused_to_all_and_may_fit_later) {
  const std::unique_ptr<Job> job = new_job();
  constexpr std::size_t large = 64 << 10;
  job->header().heap_bytes = large + 4096;
  const std::uint64_t whole = job->shared_block({1, 0}, large - 64, 64, 1);
  ASSERT_NE(whole, 0u);
  EXPECT_EQ(job->shared_block({2, 0}, large - 64, 64, 3), 0u);
  EXPECT_EQ(job->shared_block({2, 0}, large - 64, 64, 3), 0u);
  job->leave_shared_block(whole);
  EXPECT_EQ(job->shared_block({2, 0}, large - 64, 64, 3), 0u);  // like the others
  EXPECT_EQ(job->shared_block({2, 0}, large - 64, 64, 3), whole);
  // Not even a note of the refusal fits: for good.
  ASSERT_NE(job->shared_block({3, 0}, 64, 64, 2), 0u);
  EXPECT_EQ(job->shared_block({4, 0}, 64, 64, 2), 0u);
  job->leave_shared_block(whole);
  EXPECT_EQ(job->shared_block({4, 0}, 64, 64, 2), 0u);
  EXPECT_NE(job->shared_block({3, 0}, 64, 64, 2), 0u);
}

}  // namespace
}  // namespace weft::memory
