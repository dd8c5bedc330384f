// SPDX-License-Identifier: Apache-2.0
#include "world/network.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "net/lane.h"
#include "world/rank.h"

namespace weft::world {
namespace {

constexpr const char* addresses_key = "net";

/// Write them down for all ranks of this node.
Err tell(memory::Job& job, int world_rank, const std::string& addresses) {
  const std::uint64_t at = job.extend(addresses.size() + 1);
  if (at == 0)
    return fail(MPI_ERR_NO_MEM, "no shared memory for the addresses of rank %d", world_rank);
  std::memcpy(job.at(at), addresses.c_str(), addresses.size() + 1);
  // release: the text; pairs with addresses_of()
  job.entry(world_rank).addresses.store(at, std::memory_order_release);
  return ok;
}

/// What the process manager knows about a rank on another node.
void learn(Process& process, int world_rank) {
  const std::lock_guard guard(process.asks_manager);
  const Result<std::string> found = process.manager->get(world_rank, addresses_key);
  memory::Job& job = *process.job;
  if (!found || tell(job, world_rank, found.value)) return;
  memory::RankEntry& entry = job.entry(world_rank);
  const auto commas = std::count(found.value.begin(), found.value.end(), ',');
  entry.contexts.store(static_cast<std::int32_t>(1 + commas), std::memory_order_relaxed);
  // release: with the state comes how many contexts it has (world/comm_agree.cc)
  entry.state.store(memory::RankState::initialized, std::memory_order_release);
}

/// The addresses of a rank, separated by commas; "" if it has opened none yet. By any thread.
std::string addresses_of(Process& process, int world_rank) {
  memory::Job& job = *process.job;
  const std::atomic<std::uint64_t>& told = job.entry(world_rank).addresses;
  if (told.load(std::memory_order_acquire) == 0 && process.manager != nullptr)
    learn(process, world_rank);
  const std::uint64_t at = told.load(std::memory_order_acquire);
  return at != 0 ? reinterpret_cast<const char*>(job.at(at)) : "";
}

/// MPI has no way to go on without a rank that others send to.
void give_up(Rank& rank, int lost_rank, Err err) {
  char text[memory::message_bytes];
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
  WEFT_TRY(tell(*process.job, rank.world_rank, all));
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
