// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of the test, each with an engine of its own on one job segment and a
// communicator of all of them: the collectives over real messages and shared blocks, without
// MPI_Init.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "coll/coll.h"
#include "pt2pt/engine.h"

namespace weft::coll {

/// Where the ranks are, as they are told.
struct Placing {
  bool reach = false;    // in one process: they read each other's buffers
  int parts = 1;         // of the machine; rank r is in r % parts,
  bool in_rows = false;  // or ranks of one part follow each other
};

/// Run `body` on `p` ranks. `crowded`: as if there were fewer cores than ranks.
inline void run_ranks(int p, bool crowded, const std::function<void(Comm&)>& body,
                      Placing placing = {}) {
  const Params params = Params::from_env(false);
  Result<memory::Job*> made = memory::Job::create(p, crowded ? 1 : p, params);
  ASSERT_FALSE(made.err);
  const std::unique_ptr<memory::Job> job(made.value);
  if (placing.parts > 1) {
    topo::HierarchyTable& table = job->hierarchy_table();
    table.ranks = static_cast<std::uint32_t>(p);
    for (int rank = 0; rank < p; ++rank)
      table.row(1)[rank] = placing.in_rows ? rank * placing.parts / p : rank % placing.parts;
    table.levels = 2;
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < p; ++rank)
    threads.emplace_back([&, rank] {
      const auto counters = std::make_unique<Counters>();
      const auto engine = std::make_unique<pt2pt::Engine>();
      pt2pt::Contexts contexts;
      engine->open(*job, rank, params, *counters, contexts);
      if (placing.reach) engine->ranks_here = p;
      object::Group group{};
      group.members.resize(static_cast<std::size_t>(p));
      std::iota(group.members.begin(), group.members.end(), 0);
      group.rank = rank;
      Comm comm{};
      comm.refs = 1;
      comm.context = 2;
      comm.rank = rank;
      comm.group = &group;
      comm.engine = engine.get();
      attach(comm);
      body(comm);
      EXPECT_FALSE(barrier(comm));
      detach(comm);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::coll
