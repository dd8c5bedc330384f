// SPDX-License-Identifier: Apache-2.0
//
// Engines of several ranks in the test's process, without launcher.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "pt2pt/engine.h"

namespace weft::pt2pt {

inline const datatype::Type* byte_type() {
  return datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_BYTE));
}

struct TestRank {
  Counters counters;
  Contexts contexts;
  Engine engine;
  object::Group group;
  object::Comm comm;
};

/// A job of `n` ranks in this process.
struct TestJob {
  Params params;
  std::unique_ptr<memory::Job> job;
  std::vector<std::unique_ptr<TestRank>> ranks;

  using Environment = std::vector<std::pair<const char*, const char*>>;
  TestJob(int n, bool multiple, Environment environment = {}) {
    environment.insert(environment.end(), {{"WEFT_SHM_RING_CELLS", "64"},
                                           {"WEFT_SHM_RING_BYTES", "32768"},
                                           {"WEFT_PT2PT_EAGER_MAX", "2048"}});
    for (const auto& [name, value] : environment) setenv(name, value, 1);
    params = Params::from_env(false);
    for (const auto& [name, value] : environment) unsetenv(name);
    const Result<memory::Job*> made = memory::Job::create(n, 8, params);
    EXPECT_FALSE(made.err);
    job.reset(made.value);
    for (int r = 0; r < n; ++r) {
      ranks.push_back(std::make_unique<TestRank>());
      TestRank& rank = *ranks.back();
      job->entry(r).pid = getpid();
      rank.engine.open(*job, r, params, rank.counters, rank.contexts);
      if (multiple) rank.engine.share();
      for (int i = 0; i < n; ++i) rank.group.members.push_back(i);
      rank.comm.group = &rank.group;
      rank.comm.rank = r;
      rank.comm.context = 4;
      rank.comm.engine = &rank.engine;
      rank.comm.refs = 1;
    }
  }

  /// Take the rank's lock as an entry point does.
  template <class Body>
  void as(int rank, Body body) {
    Engine& e = ranks[static_cast<std::size_t>(rank)]->engine;
    e.lock.hold();
    body(ranks[static_cast<std::size_t>(rank)]->comm);
    e.lock.release();
  }
};

}  // namespace weft::pt2pt
