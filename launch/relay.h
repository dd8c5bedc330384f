// SPDX-License-Identifier: Apache-2.0
//
// `mpiexec --relay PORT`: the way to a port (MPI-5.0 §11.9) of this host for a rank on another one,
// which has started it through ssh or another command (world/port_far.h). What it hears on its
// stdin goes to the port's socket, and what that says to its stdout; it ends when either does.
#pragma once

namespace weft::launch {

/// All of it; returns the exit code. `port_name`: without a host.
int relay(const char* port_name);

}  // namespace weft::launch
