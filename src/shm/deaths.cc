// SPDX-License-Identifier: Apache-2.0
#include "shm/deaths.h"

#include <cstdio>

#include "shm/mailbox.h"

namespace weft::shm {

bool all_survive(memory::Job& job, memory::World dead, bool (*is_here)(const void*, int rank),
                 const void* state) {
  using memory::RankState;
  for (int r = 0; r < job.used(); ++r) {
    if ((r >= dead.first && r < dead.end()) || !is_here(state, r) || is_dead(job, r)) continue;
    const memory::RankEntry& entry = job.entry(r);
    // acquire: pairs with MPI_Finalize
    const RankState own = entry.state.load(std::memory_order_acquire);
    if (own == RankState::finalized || own == RankState::exited) continue;
    // relaxed: it is about now
    if (entry.survives.load(std::memory_order_relaxed) == 0) return false;
  }
  return true;
}

void mark_dead(memory::Job& job, memory::World dead, const std::string& how) {
  for (int r = dead.first; r < dead.end(); ++r) {
    memory::RankEntry& entry = job.entry(r);
    if (entry.dead.load(std::memory_order_relaxed) != 0) continue;
    std::snprintf(job.message(r), sizeof(memory::Job::Message), "%s", how.c_str());
    // For who asks why nobody moves: nothing comes of it.
    entry.state.store(memory::RankState::exited, std::memory_order_release);
    entry.dead.store(1, std::memory_order_release);  // pairs with is_dead()
  }
  // seq_cst: before the looks at the words of those who sleep; pairs with the exchange or store by
  // which they announce it, and their look for deaths behind it (pt2pt/engine.h, waiting.cc)
  job.header().deaths.fetch_add(1, std::memory_order_seq_cst);
  const int contexts = static_cast<int>(job.header().contexts);
  for (int r = 0; r < job.used(); ++r) {
    if (job.entry(r).pid.load(std::memory_order_relaxed) == 0) continue;  // elsewhere, or not begun
    for (int c = 0; c < contexts; ++c) View(job, r, c).ring();
  }
}

bool mourn(memory::Job& job, const std::vector<std::int32_t>& guests,
           bool (*is_here)(const void*, int rank), const void* state) {
  if (guests.empty()) return true;
  if (!all_survive(job, {}, is_here, state)) return false;
  for (const std::int32_t place : guests) mark_dead(job, {place, 1}, how_guests_die);
  return true;
}

}  // namespace weft::shm
