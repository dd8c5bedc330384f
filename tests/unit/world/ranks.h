// SPDX-License-Identifier: Apache-2.0
// A job inside a unit test: its ranks are threads of the test, joined by a job segment of their
// own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "topo/table.h"
#include "world/rank.h"

namespace weft::world {

/// Run `body(rank)` between init and finalize on `n` ranks, placed on `machine` (hwloc's synthetic
/// form) if it is given; `level_of(rank number)` is a thread level.
template <class Body, class LevelOf>
void run_ranks_at(int n, Body body, LevelOf level_of, const char* machine = nullptr) {
  Process process;
  process.params = Params::from_env(false);
  const Result<memory::Job*> job = memory::Job::create(n, 2, process.params);
  ASSERT_FALSE(job.err);
  const std::unique_ptr<memory::Job> owner(job.value);
  process.job = job.value;
  process.world = {0, n};
  if (machine != nullptr) {
    const Result<topo::Topology> node = topo::Topology::synthetic(machine);
    ASSERT_TRUE(node);
    topo::fill_table(node.value, topo::slices(node.value, n), job.value->hierarchy_table());
  }
  process.threads = true;
  for (int i = 0; i < n; ++i) {
    process.ranks.push_back(std::make_unique<Rank>());
    process.ranks.back()->process = &process;
    process.ranks.back()->world_rank = i;
    process.job->entry(i).app_size = n;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      Rank& rank = *process.ranks[static_cast<std::size_t>(i)];
      this_thread_rank = &rank;
      int provided = -1;
      EXPECT_FALSE(init(rank, level_of(i), &provided));
      body(rank);
      EXPECT_FALSE(finalize(rank));
      this_thread_rank = nullptr;
    });
  for (std::thread& thread : threads) thread.join();
}

/// The same, all at one level.
template <class Body>
void run_ranks(int n, Body body, int thread_level = MPI_THREAD_SINGLE,
               const char* machine = nullptr) {
  run_ranks_at(
      n, body, [thread_level](int) { return thread_level; }, machine);
}

}  // namespace weft::world
