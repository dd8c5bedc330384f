// SPDX-License-Identifier: Apache-2.0
//
// Buffered mode (MPI-5.0 §3.4, §3.6): messages are packed into a buffer that the user attached to
// the process or to a communicator, or that is automatic, and sent from there.
#pragma once

#include "pt2pt/engine.h"

namespace weft::pt2pt {

/// Start a buffered send: complete when this returns, or MPI_ERR_BUFFER.
Err start_buffered(Engine& e, P2p& send);
/// The request ends, or starts again, before the copy that it made is sent.
void forget_copy(P2p& send);

}  // namespace weft::pt2pt
