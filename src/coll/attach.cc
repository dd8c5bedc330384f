// SPDX-License-Identifier: Apache-2.0
//
// The collectives' state of a communicator, from its construction to its end.
#include "coll/shared/shared.h"
#include "coll/state.h"
#include "coll/way.h"

namespace weft::coll {

void attach(Comm& comm) {
  comm.coll = new CommState;
}

void detach(Comm& comm) {
  CommState* state = comm.coll;
  comm.coll = nullptr;
  while (Schedule* schedule = state->idle) {
    state->idle = schedule->next_free;
    delete schedule;
  }
  delete state->shared;
  delete state;
}

Shared* shared_for(Call call, Comm& comm, const How& how) {
  if (how.what != How::blocking || comm.is_inter() || comm.size() == 1 ||
      comm.size() > Shared::ranks_max || comm.engine->compare_calls)
    return nullptr;
  if (comm.engine->ways_matter && asked_kind(*comm.engine, call) == Way::schedule) [[unlikely]]
    return nullptr;
  CommState& state = *comm.coll;
  if (!state.shared_tried) [[unlikely]] {
    state.shared_tried = true;
    state.shared = Shared::attach(comm);
  }
  return state.shared;
}

}  // namespace weft::coll
