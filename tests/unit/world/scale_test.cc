// SPDX-License-Identifier: Apache-2.0
//
// What a rank has of its own for each other rank of its job, counted: in jobs that are declared, of
// which one rank is there.
#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>

#include <memory>

#include "coll/nodes/nodes.h"
#include "world/comms.h"
#include "world/rank.h"

namespace weft::world {
namespace {

/// Bytes that malloc has given out. A sanitizer's says nothing.
std::size_t heap() {
#if defined(__SANITIZE_ADDRESS__)
  return 0;
#else
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#endif
}

struct Taken {
  std::size_t at_init, at_first_words;
};

/// By the last rank of a job: for MPI_Init, and to speak to `peers` others.
Taken taken(int ranks, int peers) {
  setenv("WEFT_PT2PT_CONTEXTS", "1", 1);  // less address space
  Params params = Params::from_env(false);
  unsetenv("WEFT_PT2PT_CONTEXTS");
  const Result<memory::Job*> job = memory::Job::create(ranks, 2, params);
  EXPECT_FALSE(job.err) << last_error_text(job.err.cls);
  const std::unique_ptr<memory::Job> owner(job.value);
  Process process;
  process.params = std::move(params);
  process.job = job.value;
  process.world = {0, ranks};
  process.first = ranks - 1;
  process.threads = true;
  process.ranks.push_back(std::make_unique<Rank>());
  Rank& rank = *process.ranks.back();
  rank.process = &process;
  rank.world_rank = ranks - 1;
  const std::size_t before = heap();
  int provided = -1;
  EXPECT_FALSE(init(rank, MPI_THREAD_SINGLE, &provided));
  const std::size_t begun = heap();
  for (int i = 0; i < peers; ++i) rank.engine.peer(i * (ranks / peers));
  EXPECT_EQ(rank.engine.peers.all().size(), static_cast<std::size_t>(peers));
  const std::size_t spoken = heap();
  free_predefined_comms(rank);
  return {begun - before, spoken - begun};
}

TEST(Scale, MemoryGrowsByFewBytesForEachOtherRank) {
  constexpr int few = 1'000, many = 100'000, each = 16, peers = 20;
  const Taken small = taken(few, peers), large = taken(many, peers);
  const auto nodes = coll::Nodes::rows(many / each, each).bytes();  // at the first collective
  constexpr std::size_t most = 16, slack = 4096;
  EXPECT_LE(large.at_init + 2 * nodes, small.at_init + most * (many - few) + slack);
  // Whoever it speaks to costs the same in both, and not a place more.
  constexpr std::size_t list = 1024;  // of pointers to them
  EXPECT_LE(small.at_first_words, peers * (sizeof(pt2pt::Peer) + 64) + list);
  EXPECT_LE(large.at_first_words, peers * (sizeof(pt2pt::Peer) + 64) + list);
}

}  // namespace
}  // namespace weft::world
