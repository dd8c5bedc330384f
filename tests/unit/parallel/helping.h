// SPDX-License-Identifier: Apache-2.0
//
// Threads that help in unit tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "parallel/jobs.h"

namespace weft::parallel::test {

inline constexpr std::uint32_t all_of_it = UINT32_MAX;

/// Threads that do nothing but help, `most` chunks at a time.
class Helpers {
 public:
  Helpers(Jobs& jobs, int n, std::uint32_t most) {
    for (int i = 0; i < n; ++i)
      threads_.emplace_back([this, &jobs, most] {
        while (!over_.load(std::memory_order_relaxed)) {
          if (!jobs.is_offered() || !jobs.help(most)) std::this_thread::yield();
        }
      });
  }
  ~Helpers() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

/// Every copy and reduction of the process is a job, however short, and has so many helpers.
class AllJobsOffered {
 public:
  explicit AllJobsOffered(int helpers)
      : configured_(helpers), before_(jobs().done().given), helpers_(jobs(), helpers, 1) {}
  std::uint64_t given() const { return jobs().done().given - before_; }

 private:
  struct Configured {
    explicit Configured(int helpers) {
      jobs().configure({.most_helpers = helpers, .min_bytes = 1});
    }
    ~Configured() { jobs().configure({}); }
  } configured_;
  std::uint64_t before_;
  Helpers helpers_;
};

}  // namespace weft::parallel::test
