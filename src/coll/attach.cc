// SPDX-License-Identifier: Apache-2.0
//
// The collectives' state of a communicator, from its construction to its end.
#include "coll/state.h"

namespace weft::coll {

void attach(Comm& comm) { comm.coll = new CommState; }

void detach(Comm& comm) {
  CommState* state = comm.coll;
  comm.coll = nullptr;
  while (Schedule* schedule = state->idle) {
    state->idle = schedule->next_free;
    delete schedule;
  }
  delete state;
}

}  // namespace weft::coll
