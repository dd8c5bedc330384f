// SPDX-License-Identifier: Apache-2.0
//
// The way to a port of another host. As mpiexec starts its agents there, a rank starts a relay, by
// ssh or what spawn.agent says; that connects to the port and passes on what both say
// (launch/relay.h). So nobody listens in the network, and who may log in there as this user proves
// who he is.
#pragma once

#include <string>

#include "base/err.h"
#include "memory/user_socket.h"
#include "pt2pt/pt2pt.h"

namespace weft::world {

/// As if it were connected to the port's socket on that host, for as long as both sides live; or
/// MPI_ERR_PORT says why not. `agent`: the command.
Result<memory::Socket> connect_far(pt2pt::Engine& held, const std::string& agent,
                                   const std::string& host, const std::string& port);

}  // namespace weft::world
