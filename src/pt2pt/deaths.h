// SPDX-License-Identifier: Apache-2.0
//
// What ends when a rank dies while others go on (shm/deaths.h): what is under way with it, receives
// from any source and collectives of communicators that it is in. They are complete with
// MPI_ERR_PROC_ABORTED.
#pragma once

#include "pt2pt/engine.h"
#include "shm/deaths.h"

namespace weft::pt2pt {

/// A member that is dead, by its rank in the world; -1: none. Costs a load while nobody has died.
std::int32_t dead_member(const Comm& comm);
/// The error of a call that needs it.
[[gnu::cold]] Err died(const Comm& comm, std::int32_t world_rank);
/// The same, by the communicator alone; ok: none is.
[[gnu::cold]] Err died(const Comm& comm);
inline Err died_if_any(const Comm& comm) {
  if (!shm::has_deaths(*comm.engine->job)) [[likely]]
    return ok;
  return died(comm);
}
/// The error of an operation that is over. Another thread may have found out that somebody is dead.
inline Err error_of(const Request& request) {
  const bool names_rank = request.error == MPI_ERR_PROC_ABORTED && request.comm != nullptr;
  if (names_rank && last_error_text(request.error) == nullptr) [[unlikely]]
    if (const Err e = died(*request.comm)) return e;
  return Err{request.error};
}
/// No source of such a receive or probe can send any more, or one of those cannot. -1: that is not
/// so.
std::int32_t dead_source(const Comm& comm, int source);

}  // namespace weft::pt2pt
