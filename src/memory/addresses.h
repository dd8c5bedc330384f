// SPDX-License-Identifier: Apache-2.0
//
// Where the ranks of a job are in the network: a text for each, its host and its contexts'
// addresses, which commas separate (world/network.cc), in the memory of every node. A rank tells
// its own in MPI_Init. Those of other nodes come from who started the job: from a process manager
// when somebody asks, or from weft's agent (launch/agent.h), all at once when the last rank has
// told its own; MPI_Init waits for that.
#pragma once

#include <string>

#include "base/err.h"
#include "memory/job.h"

namespace weft::memory {

/// A rank of this node, once: it can be reached there. Wakes an agent.
Err tell_addresses(Job& job, int world_rank, const std::string& addresses);
/// Of a rank of another node; with its addresses comes that it is initialized, and its contexts.
Err learn_addresses(Job& job, int world_rank, const std::string& addresses);
/// "": not known yet. By any thread.
std::string addresses_of(Job& job, int world_rank);

/// An agent, before its ranks start: they have to wait for it.
void promise_addresses(Job& job);
/// An agent: they need not any more.
void all_addresses_known(Job& job);
/// An agent, before ranks of a spawned world start here, and when all nodes know where they are.
void promise_addresses(Job& job, int world_rank);
void addresses_known(Job& job, int world_rank);
/// A rank: sleep until the agent has brought what it promised.
void await_addresses(Job& job, int world_rank);
/// A rank: something of it has changed that an agent tells other nodes. Wakes the agent.
void stir_agent(Job& job);
/// An agent's thread: sleep until another number of ranks than `seen` have told; returns it.
std::uint32_t await_teller(Job& job, std::uint32_t seen);

}  // namespace weft::memory
