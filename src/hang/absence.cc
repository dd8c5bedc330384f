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

std::string absence(memory::Job& job, int caller) {
  if (job.header().absent.load(std::memory_order_seq_cst) == 0) return "";
  std::vector<std::int32_t> left, waiting;
  for (int r = 0; r < job.size(); ++r) {
    const RankState state = job.entry(r).state.load(std::memory_order_seq_cst);
    if (state == RankState::absent) left.push_back(r);
    if (state == RankState::initialized) waiting.push_back(r);
  }
  if (left.empty() || waiting.empty()) return "";
  const std::string who = ranks_text(left);
  if (caller >= 0)
    return text(
        "weft: rank %d called MPI_Init, but %s of %d had ended without it; all ranks of a "
        "job must call it",
        caller, who.c_str(), job.size());
  return text(
      "weft: %s of %d ended without calling MPI_Init, which %s %s called; all ranks of a job "
      "must call it",
      who.c_str(), job.size(), ranks_text(waiting).c_str(), waiting.size() == 1 ? "has" : "have");
}

}  // namespace weft::hang
