// SPDX-License-Identifier: Apache-2.0
#include "hang/absence.h"

#include <vector>

#include "hang/phrases.h"

namespace weft::hang {

using memory::RankState;

void mark_absent(memory::Job& job, int world_rank) {
  job.entry(world_rank).state.store(RankState::absent, std::memory_order_relaxed);
  // seq_cst: before the caller looks at the others' states; pairs with MPI_Init, which writes its
  // state and then looks here
  job.header().absent.fetch_add(1, std::memory_order_seq_cst);
}

std::string absence(memory::Job& job, int rank, bool calls_init) {
  if (job.header().absent.load(std::memory_order_seq_cst) == 0) return "";
  const memory::World world = job.world_of(rank);
  std::vector<std::int32_t> left, waiting;
  for (int r = world.first; r < world.end(); ++r) {
    const RankState state = job.entry(r).state.load(std::memory_order_seq_cst);
    if (state == RankState::absent) left.push_back(r - world.first);
    if (state == RankState::initialized) waiting.push_back(r - world.first);
  }
  if (left.empty() || waiting.empty()) return "";
  const std::string who = ranks_text(left);
  const char* which = world.first > 0 ? " spawned" : "";
  if (calls_init)
    return text(
        "weft: rank %d called MPI_Init, but %s of %d%s had ended without it; all ranks of a "
        "job must call it",
        rank - world.first, who.c_str(), world.size, which);
  return text(
      "weft: %s of %d%s ended without calling MPI_Init, which %s %s called; all ranks of a job "
      "must call it",
      who.c_str(), world.size, which, ranks_text(waiting).c_str(),
      waiting.size() == 1 ? "has" : "have");
}

}  // namespace weft::hang
