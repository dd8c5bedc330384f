// SPDX-License-Identifier: Apache-2.0
//
// Ranks on other nodes: opening the way to them, and where they are. A rank's addresses, one for
// each of its communication contexts, stand in the job's memory of its node; on other nodes they
// are written there by the first rank that asks for them, from what the process manager knows.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/err.h"
#include "memory/job.h"
#include "net/fabric.h"
#include "net/watcher.h"

namespace weft {

struct Rank;

/// What a rank's contexts share of the network. Each rank opens its own: with ranks as threads they
/// have descriptors of their own.
struct Network {
  std::unique_ptr<net::Fabric> fabric;
  net::Watcher watcher;
  net::Watcher of_links;            // across.h; runs once there is one
  std::atomic<int> to_do_again{0};  // net/lane.h
};

namespace world {

struct Process;

/// In MPI_Init, once the rank's contexts are open: nothing if all ranks of the job are on one node.
Err open_network(Rank& rank);
/// Before the rank meets ranks of other jobs (across.h), if that has not been done: on one node the
/// first context alone, and as far as JobHeader::range says. By a thread that holds no context's
/// lock.
Err open_network_to_guests(Rank& rank);
/// The name by which other machines reach this one, and whether a name is one of its own.
std::string host_of_ports(const memory::Job& job);
bool is_own_host(const memory::Job& job, const std::string& host);
/// That of a rank, as it says itself, in MPI_Init; "": nobody knows. Asks the process manager, if
/// there is one.
std::string told_host(Process& process, int world_rank);
/// Once nobody sends to this rank any more.
void close_network(Rank& rank);

}  // namespace world
}  // namespace weft
