// SPDX-License-Identifier: Apache-2.0
#include "world/connected.h"

#include <algorithm>

#include "memory/addresses.h"
#include "world/rank.h"

namespace weft::world {
namespace {

bool is_foreign(const Rank& rank, std::int32_t other) {
  const memory::World& own = rank.process->world;
  return other < own.first || other >= own.end();
}

/// All foreign members of a rank's communicators.
Members connected_ranks(Rank& rank) {
  Members out;
  const sync::Guard guard(rank.store.lock);
  for (const Comm* comm : rank.contexts.comms)
    for (const Group* group : {comm->group, comm->remote}) {
      if (group == nullptr) continue;
      for (const std::int32_t member : group->members)
        if (is_foreign(rank, member)) out.push_back(member);
    }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// `incarnation`: of the rank that is meant. Another one has its place once it has ended.
bool is_leaving(const memory::RankEntry& entry, std::uint32_t incarnation) {
  if (entry.incarnation != incarnation) return true;
  // acquire: pairs with leave_connected(), MPI_Finalize and the launcher
  const memory::RankState state = entry.state.load(std::memory_order_acquire);
  const bool may_use_mpi = state == memory::RankState::started ||
                           state == memory::RankState::initialized ||
                           state == memory::RankState::in_session;
  if (!may_use_mpi) return true;
  return entry.leaving.load(std::memory_order_acquire) != 0;
}

}  // namespace

void meet_members(Comm& holder, const Members& ranks) {
  const sync::Away away(holder.engine->lock);
  for (pt2pt::Engine* e : holder.engine->contexts->engines) {
    const pt2pt::Inside inside(*e);
    e->meet(ranks);
  }
}

bool is_connection(const Comm& comm) {
  const Rank& rank = *comm.owner;
  const auto foreign = [&rank](std::int32_t other) { return is_foreign(rank, other); };
  const auto has = [&](const Group* group) {
    return group != nullptr && std::any_of(group->members.begin(), group->members.end(), foreign);
  };
  return has(comm.group) || has(comm.remote);
}

void leave_connected(Rank& rank) {
  Members others = connected_ranks(rank);
  // release: what this rank sent is out; pairs with is_leaving()
  rank.entry().leaving.store(1, std::memory_order_release);
  if (rank.process->job->header().apart != 0) memory::stir_agent(*rank.process->job);
  if (others.empty()) return;
  const auto all_leave = [&] {
    std::erase_if(others, [&](std::int32_t r) {
      return is_leaving(rank.process->job->entry(r), rank.engine.incarnation(r));
    });
    for (pt2pt::Engine* e : rank.contexts.engines) {
      if (e == &rank.engine) continue;
      const sync::Away away(rank.engine.lock);
      const pt2pt::Inside inside(*e);
      pt2pt::progress(*e);
    }
    return others.empty();
  };
  const pt2pt::Inside inside(rank.engine);
  look_until(rank.engine, all_leave);
}

}  // namespace weft::world
