// SPDX-License-Identifier: Apache-2.0
#include "world/network.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>

#include "memory/addresses.h"
#include "memory/guests.h"
#include "net/lane.h"
#include "shm/deaths.h"
#include "world/across.h"
#include "world/rank.h"

namespace weft::world {
namespace {

using memory::Range;

constexpr const char* addresses_key = "net";

/// What the process manager knows about a rank on another node.
void learn(Process& process, int world_rank) {
  const std::lock_guard guard(process.asks_manager);
  const Result<std::string> found = process.manager->get(world_rank, addresses_key);
  // Otherwise they are asked for again.
  if (!found || memory::learn_addresses(*process.job, world_rank, found.value)) return;
}

/// What a rank tells of itself: its host, and behind an @ its addresses, separated by commas.
constexpr char behind_host = '@';

/// What a rank has told; "": nothing yet. By any thread.
std::string told_by(Process& process, int world_rank) {
  std::string known = memory::addresses_of(*process.job, world_rank);
  if (known.empty() && process.manager != nullptr && world_rank < process.job->size()) {
    learn(process, world_rank);
    known = memory::addresses_of(*process.job, world_rank);
  }
  return known;
}

/// The addresses of a rank; "" if it has opened none yet. By any thread.
std::string addresses_of(Process& process, int world_rank) {
  const std::string known = told_by(process, world_rank);
  return known.substr(known.find(behind_host) + 1);
}

std::string host_of(Process& process, int world_rank) {
  const std::string known = memory::addresses_of(*process.job, world_rank);
  const std::size_t end = known.find(behind_host);
  return end == known.npos ? "an unknown host" : known.substr(0, end);
}

std::string node_name() {
  utsname own{};
  return uname(&own) == 0 ? own.nodename : "";
}

std::string own_host() {
  std::string name = node_name();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ',' || c == behind_host; }, '-');
  return name.empty() ? "a host without a name" : name;
}

/// A rank of another world may end before all that nobody waits for has come to it: an answer, or
/// the end of a connection. That it was about to end may not be known here yet. If it was killed,
/// its launcher ends the job.
bool has_left(Rank& rank, const pt2pt::Engine& e, int other) {
  constexpr useconds_t look_us = 1000, patience_us = 2'000'000;
  memory::Job& job = *rank.process->job;
  if (other < 0 || job.world_of(other) == job.world_of(rank.world_rank)) return false;
  const memory::RankEntry& entry = job.entry(other);
  const std::uint32_t known = e.incarnation(other);
  for (useconds_t waited = 0; waited < patience_us; waited += look_us) {
    if (job.is_guest(other) && !memory::has_users(job, other)) return true;
    // acquire: as in connected.cc
    const memory::RankState state = entry.state.load(std::memory_order_acquire);
    if (entry.incarnation.load(std::memory_order_relaxed) != known ||
        entry.leaving.load(std::memory_order_acquire) != 0 ||
        state == memory::RankState::finalized || state == memory::RankState::exited)
      return true;
    usleep(look_us);
  }
  return false;
}

/// The job ends, unless this rank wants to go on.
void give_up(Rank& rank, const pt2pt::Engine& e, int lost_rank, Err err) {
  if (has_left(rank, e, lost_rank)) return;
  char text[memory::message_bytes];
  // relaxed: it is about now
  if (lost_rank >= 0 && rank.entry().survives.load(std::memory_order_relaxed) != 0) {
    std::snprintf(text, sizeof text, "rank %d on %s cannot be reached: %s", lost_rank,
                  host_of(*rank.process, lost_rank).c_str(), last_error_text(err.cls));
    return shm::mark_dead(*rank.process->job, {lost_rank, 1}, text);
  }
  rank.entry().lost_peer.store(1, std::memory_order_relaxed);  // released by abort_job()
  if (lost_rank >= 0)
    std::snprintf(text, sizeof text, "weft: rank %d on %s cannot reach rank %d on %s: %s",
                  rank.world_rank, own_host().c_str(), lost_rank,
                  host_of(*rank.process, lost_rank).c_str(), last_error_text(err.cls));
  else
    std::snprintf(text, sizeof text, "weft: rank %d cannot use the network: %s", rank.world_rank,
                  last_error_text(err.cls));
  abort_job(&rank, 1, text);
}

/// Nobody listens to more than the job needs.
net::Wish wish_of(const Process& process) {
  net::Wish wish = net::Wish::of(process.params);
  memory::Job& job = *process.job;
  // relaxed: the leader's group has heard of it by messages (across.cc)
  const bool leaves = job.nodes() > 1
                          ? job.header().loopback == 0
                          : job.header().range.load(std::memory_order_relaxed) == Range::beyond;
  if (wish.interface.empty() && !leaves) wish.interface = "lo";
  return wish;
}

/// What libfabric says of the machine, which takes it long: asked once for all ranks.
Result<std::shared_ptr<const net::Survey>> survey_of(Process& process) {
  const std::lock_guard guard(process.opens_network);
  if (std::shared_ptr<const net::Survey> known = process.survey.lock()) return known;
  const net::Wish wish = wish_of(process);
  Result<std::unique_ptr<net::Survey>> made = net::Survey::make(wish, wish.provider);
  if (!made) return made.err;
  std::shared_ptr<const net::Survey> out = std::move(made.value);
  process.survey = out;
  return out;
}

/// What a guest and this rank are to each other.
std::optional<net::Guest> guest_of(const Rank& rank, int place) {
  memory::Job& job = *rank.process->job;
  if (!job.is_guest(place)) return std::nullopt;
  return net::Guest{.secret = memory::key_with(job, place),
                    .its_name = static_cast<std::uint32_t>(memory::name_of(job, place)),
                    .own_name = static_cast<std::uint32_t>(memory::name_of(job, rank.world_rank))};
}

/// Of the first contexts so many. What the rank tells of itself.
Result<std::string> open_network(Rank& rank, std::size_t contexts) {
  Process& process = *rank.process;
  rank.network = std::make_unique<Network>();
  Network& network = *rank.network;
  Result<std::shared_ptr<const net::Survey>> survey = survey_of(process);
  if (!survey) return survey.err;
  Result<std::unique_ptr<net::Fabric>> fabric = net::Fabric::open(std::move(survey.value));
  if (!fabric) return fabric.err;
  network.fabric = std::move(fabric.value);
  char name[24];
  std::snprintf(name, sizeof name, "weft-net.%d", rank.world_rank);
  WEFT_TRY(network.watcher.start(name, net::Watcher::Descriptors::own));
  std::string all = own_host() + behind_host;
  using pt2pt::Engine;
  for (Engine* e : std::span(rank.contexts.engines).first(contexts)) {
    Result<std::unique_ptr<net::Lane>> lane = net::Lane::open(
        {.fabric = *network.fabric,
         .watcher = network.watcher,
         .sleeper = {[](void* engine) { pt2pt::wake_for_network(*static_cast<Engine*>(engine)); },
                     e},
         .unwatched = [](void* engine) { pt2pt::take_from_others(*static_cast<Engine*>(engine)); },
         .secret = process.job->header().secret,
         .dropped = e->counters->net_dropped,
         .to_do_again = network.to_do_again,
         .world_rank = rank.world_rank,
         .ranks = process.job->all_places(),
         .context = e->context,
         .payload_max = static_cast<std::uint32_t>(e->piece_max),
         .find = [&process](int world_rank) { return addresses_of(process, world_rank); },
         .incarnation =
             [&process](int world_rank) {
               // relaxed: it changes only while its rank is not there
               return process.job->entry(world_rank).incarnation.load(std::memory_order_relaxed);
             },
         .guest = [&rank](int world_rank) { return guest_of(rank, world_rank); },
         .find_guest =
             [&process](std::uint32_t name) {
               return memory::find_guest(*process.job, static_cast<std::int32_t>(name));
             },
         .lost = [&rank, e](int lost_rank, Err err) { give_up(rank, *e, lost_rank, err); },
         .may_post = process.threads ? std::function([&rank] { return current_rank() == &rank; })
                                     : std::function<bool()>(),
         .is_crowded = e->policy.crowded});
    if (!lane) return lane.err;
    all += (all.back() == behind_host ? "" : ",") + lane.value->address();
    const sync::Guard guard(e->lock);
    e->open(std::move(lane.value));
  }
  WEFT_TRY(memory::tell_addresses(*process.job, rank.world_rank, all));
  return all;
}

}  // namespace

Err open_network(Rank& rank) {
  Process& process = *rank.process;
  if (process.job->nodes() == 1) return ok;
  const Result<std::string> told = open_network(rank, rank.contexts.engines.size());
  if (!told) return told.err;
  if (process.manager == nullptr) return ok;
  const std::lock_guard guard(process.asks_manager);
  WEFT_TRY(process.manager->put(addresses_key, told.value));
  return process.manager->fence();
}

Err open_network_to_guests(Rank& rank) {
  const std::lock_guard guard(rank.opens_network);
  if (rank.network != nullptr) return ok;
  if (rank.process->job->header().secret == HashKey{})
    return fail(MPI_ERR_OTHER, "the system gave no random numbers for a secret of this job");
  if (const Result<std::string> told = open_network(rank, 1); !told) {
    close_network(rank);
    return told.err;
  }
  // relaxed: as in wish_of()
  if (rank.process->job->header().range.load(std::memory_order_relaxed) == Range::beyond &&
      rank.network->fabric->offer().is_loopback) {
    close_network(rank);
    return fail(MPI_ERR_OTHER,
                "the other job cannot be reached over loopback, and this machine has no other "
                "interface for the network (weft info --net)");
  }
  // Who sleeps has not armed it.
  pt2pt::wake_for_network(rank.engine);
  std::atexit(end_at_exit);
  return ok;
}

std::string told_host(Process& process, int world_rank) {
  // Slurm's PMIx (22.05) does not find at once what a rank has put after something of it was got.
  constexpr useconds_t look_us = 10'000, patience_us = 5'000'000;
  std::string known;
  for (useconds_t waited = 0; waited < patience_us; waited += look_us) {
    known = told_by(process, world_rank);
    if (!known.empty()) break;
    usleep(look_us);
  }
  return known.substr(0, std::min(known.find(behind_host), known.size()));
}

std::string host_of_ports(const memory::Job& job) {
  const std::string known = job.header().host;
  return known.empty() ? node_name() : known;
}

bool is_own_host(const memory::Job& job, const std::string& host) {
  return host == job.header().host || host == node_name();
}

void close_network(Rank& rank) {
  if (rank.network == nullptr) return;
  say_goodbye(rank);
  rank.network->watcher.stop();
  rank.network->of_links.stop();
  rank.links.clear();
  for (pt2pt::Engine* e : rank.contexts.engines) {
    const sync::Guard guard(e->lock);
    e->network.reset();
  }
  rank.network.reset();
}

}  // namespace weft::world
