// SPDX-License-Identifier: Apache-2.0
#include "world/network.h"

#include <cstdio>
#include <mutex>

#include "memory/addresses.h"
#include "net/lane.h"
#include "world/rank.h"

namespace weft::world {
namespace {

constexpr const char* addresses_key = "net";

/// What the process manager knows about a rank on another node.
void learn(Process& process, int world_rank) {
  const std::lock_guard guard(process.asks_manager);
  const Result<std::string> found = process.manager->get(world_rank, addresses_key);
  // Otherwise they are asked for again.
  if (!found || memory::learn_addresses(*process.job, world_rank, found.value)) return;
}

/// The addresses of a rank, separated by commas; "" if it has opened none yet. By any thread.
std::string addresses_of(Process& process, int world_rank) {
  std::string known = memory::addresses_of(*process.job, world_rank);
  if (!known.empty() || process.manager == nullptr) return known;
  learn(process, world_rank);
  return memory::addresses_of(*process.job, world_rank);
}

/// MPI has no way to go on without a rank that others send to.
void give_up(Rank& rank, int lost_rank, Err err) {
  char text[memory::message_bytes];
  rank.entry().lost_peer.store(1, std::memory_order_relaxed);  // released by abort_job()
  if (lost_rank >= 0)
    std::snprintf(text, sizeof text, "weft: rank %d cannot reach rank %d: %s", rank.world_rank,
                  lost_rank, last_error_text(err.cls));
  else
    std::snprintf(text, sizeof text, "weft: rank %d cannot use the network: %s", rank.world_rank,
                  last_error_text(err.cls));
  abort_job(&rank, 1, text);
}

}  // namespace

Err open_network(Rank& rank) {
  Process& process = *rank.process;
  if (process.job->nodes() == 1) return ok;
  rank.network = std::make_unique<Network>();
  Network& network = *rank.network;
  {
    const std::lock_guard guard(process.opens_network);
    Result<std::unique_ptr<net::Fabric>> fabric = net::Fabric::open(net::Wish::of(process.params));
    if (!fabric) return fabric.err;
    network.fabric = std::move(fabric.value);
  }
  char name[24];
  std::snprintf(name, sizeof name, "weft-net.%d", rank.world_rank);
  WEFT_TRY(network.watcher.start(name));
  std::string all;
  for (pt2pt::Engine* e : rank.contexts.engines) {
    Result<std::unique_ptr<net::Lane>> lane = net::Lane::open(
        {.fabric = *network.fabric,
         .watcher = network.watcher,
         .sleeper = {[](void* inbox) { static_cast<shm::Inbox*>(inbox)->wake(); }, &e->inbox},
         .secret = process.job->header().secret,
         .dropped = e->counters->net_dropped,
         .context = e->context,
         .payload_max = static_cast<std::uint32_t>(e->piece_max),
         .find = [&process](int world_rank) { return addresses_of(process, world_rank); },
         .lost = [&rank](int lost_rank, Err err) { give_up(rank, lost_rank, err); }});
    if (!lane) return lane.err;
    all += (all.empty() ? "" : ",") + lane.value->address();
    e->open(std::move(lane.value));
  }
  WEFT_TRY(memory::tell_addresses(*process.job, rank.world_rank, all));
  if (process.manager == nullptr) return ok;
  const std::lock_guard guard(process.asks_manager);
  WEFT_TRY(process.manager->put(addresses_key, all));
  return process.manager->fence();
}

void close_network(Rank& rank) {
  if (rank.network == nullptr) return;
  rank.network->watcher.stop();
  for (pt2pt::Engine* e : rank.contexts.engines) {
    const sync::Guard guard(e->lock);
    e->network.reset();
  }
  rank.network.reset();
}

}  // namespace weft::world
