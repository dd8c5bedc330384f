// SPDX-License-Identifier: Apache-2.0
//
// Ranks that die while the others go on. Whoever learns of a death (mpiexec of its own ranks, an
// agent of those of other hosts, a rank whose network says so) writes it into the node's memory,
// and wakes the node's ranks. These look for it before they sleep, and after looks in vain
// (pt2pt/deaths.h); while nobody has died that is a load.
#pragma once

#include <string>
#include <vector>

#include "memory/job.h"

namespace weft::shm {

/// Does every rank that is on this node, uses MPI, and is none of `dead` want to go on? `is_here`:
/// is that rank on this node?
bool all_survive(memory::Job& job, memory::World dead, bool (*is_here)(const void*, int rank),
                 const void* state);

/// They are dead, which `how` is the sentence for. Those that are known to be are left as they are.
void mark_dead(memory::Job& job, memory::World dead, const std::string& how);

/// The same for ranks of other jobs, unless a rank here does not want to go on: false.
bool mourn(memory::Job& job, const std::vector<std::int32_t>& guests,
           bool (*is_here)(const void*, int rank), const void* state);
inline constexpr const char* how_guests_die =
    "its job, which another mpiexec started, has ended without MPI_Comm_disconnect or MPI_Finalize";

inline bool is_dead(memory::Job& job, std::int32_t rank) {
  // acquire: its message; pairs with mark_dead()
  return job.entry(rank).dead.load(std::memory_order_acquire) != 0;
}

/// relaxed: whoever overlooks one is woken
inline bool has_deaths(memory::Job& job) {
  return job.header().deaths.load(std::memory_order_relaxed) != 0;
}

}  // namespace weft::shm
