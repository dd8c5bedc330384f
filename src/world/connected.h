// SPDX-License-Identifier: Apache-2.0
//
// Ranks of other MPI_COMM_WORLDs: those that this rank spawned, was spawned by, or met at a port.
// They live in the same job, each at a place of its own, and so are reached like any other rank.
// Two things differ. A place may have had another rank before, which this rank knew. And they end
// at other times: MPI_Comm_disconnect and MPI_Finalize wait for them (MPI-5.0 §11.10.4, §11.2.2),
// so that nobody writes to a place whose rank has ended. Ranks of other jobs (across.h) are guests
// in this one, and tell by a message that they are in MPI_Finalize.
#pragma once

#include <unistd.h>

#include "object/objects.h"
#include "pt2pt/completion.h"
#include "world/comm_agree.h"

namespace weft::world {

/// Ranks of other worlds are about to be members of a communicator: forget who had their places
/// before. `holder`: a communicator whose context's lock the caller holds.
void meet_members(Comm& holder, const Members& ranks);
/// Has the communicator members of another world?
bool is_connection(const Comm& comm);
/// The communicator is about to be freed, or (stays: false) its members have disconnected it. By
/// MPI_Comm_free alone processes of different jobs stay connected until MPI_Finalize (§11.10.4).
void stays_connected(const Comm& comm, bool stays);
/// In MPI_Finalize: until all ranks that communicators of this one connect it with have come there,
/// or have ended.
void leave_connected(Rank& rank);

/// Until done(), which another process makes true in shared memory and tells nobody: look now and
/// then, and go on with what the rank has begun. With the context's lock.
template <class Done>
void look_until(pt2pt::Engine& e, Done&& done) {
  constexpr useconds_t shortest_us = 20, longest_us = 1000;
  for (useconds_t us = shortest_us; !done(); us = std::min(2 * us, longest_us)) {
    if (pt2pt::progress(e)) us = shortest_us;
    const sync::Away away(e.lock);
    usleep(us);
  }
}

}  // namespace weft::world
