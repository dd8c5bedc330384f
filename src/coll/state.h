// SPDX-License-Identifier: Apache-2.0
//
// What the collectives keep per communicator and rank, and how an operation is launched: take an
// idle schedule, let an algorithm emit into it, and give it to whoever runs it.
#pragma once

#include "coll/coll.h"
#include "coll/schedule.h"

namespace weft::coll {

class Shared;  // shared/shared.h

struct CommState {
  std::uint32_t operations = 0;  // launched so far, the same on all ranks; the tag of the next
  Schedule* idle = nullptr;      // free list
  Shared* shared = nullptr;      // flags and slots; made at the first blocking collective
  bool shared_tried = false;
};

/// The shared block to use for a blocking operation with a payload of `bytes` per rank, else null.
/// All ranks ask with the same `bytes`.
Shared* shared_for(Comm& comm, const How& how, std::int64_t bytes);

/// An empty schedule.
Schedule& take_schedule(Comm& comm);
/// Run `schedule` as `how` says. Everybody who takes part calls take and launch in the same order.
Err launch(Schedule& schedule, Comm& comm, const How& how);

inline Position position(const Comm& comm) {
  return {comm.rank, comm.size()};
}
inline int remote_size(const Comm& comm) {
  return comm.remote->size();
}

}  // namespace weft::coll
