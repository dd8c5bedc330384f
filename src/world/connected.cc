// SPDX-License-Identifier: Apache-2.0
#include "world/connected.h"

#include <algorithm>
#include <list>

#include "memory/addresses.h"
#include "memory/guests.h"
#include "world/rank.h"

namespace weft::world {
namespace {

bool is_foreign(const Rank& rank, std::int32_t other) {
  const memory::World& own = rank.process->world;
  return other < own.first || other >= own.end();
}

/// All foreign members of a rank's communicators, and guests of those that it has freed.
Members connected_ranks(Rank& rank) {
  Members out = rank.still_connected;
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

/// With a guest: that both are in MPI_Finalize.
class Parting {
 public:
  Parting(const Comm& parent, std::int32_t own, std::int32_t guest)
      : guest_(guest),
        view_(parent, Among::some, {own, guest}),
        receiving_(view_.post_recv(&said_, sizeof said_, 1, tag())),
        sending_(view_.post_send("", 1, 1, tag())) {}
  ~Parting() {
    pt2pt::free_request(receiving_);
    pt2pt::free_request(sending_);
  }
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;

  bool is_over() {
    if (memory::has_ended(*view_.engine().job, guest_)) pt2pt::give_up_receive(*receiving_);
    return receiving_->done && sending_->done;
  }

 private:
  static int tag() { return tag_of("MPI_Finalize across jobs"); }

  std::int32_t guest_;
  View view_;
  char said_ = 0;
  pt2pt::Request *receiving_, *sending_;
};

Members guests_of(const Comm& comm) {
  Members out;
  for (const Group* group : {comm.group, comm.remote}) {
    if (group == nullptr || !group->has_guests) continue;
    for (const std::int32_t member : group->members)
      if (comm.engine->job->is_guest(member)) out.push_back(member);
  }
  return out;
}

}  // namespace

void meet_members(Comm& holder, const Members& ranks) {
  const sync::Away away(holder.engine->lock);
  for (pt2pt::Engine* e : holder.engine->contexts->engines) {
    const pt2pt::Inside inside(*e);
    e->meet(ranks);
  }
}

void stays_connected(const Comm& comm, bool stays) {
  const Members guests = guests_of(comm);
  if (guests.empty()) return;
  memory::Job& job = *comm.engine->job;
  Members& known = comm.owner->still_connected;
  const sync::Guard guard(comm.store->lock);
  std::erase_if(known, [&](std::int32_t r) {
    return memory::has_ended(job, r) || std::find(guests.begin(), guests.end(), r) != guests.end();
  });
  if (stays) known.insert(known.end(), guests.begin(), guests.end());
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
  memory::Job& job = *rank.process->job;
  // release: what this rank sent is out; pairs with is_leaving()
  rank.entry().leaving.store(1, std::memory_order_release);
  if (job.header().apart != 0) memory::stir_agent(job);
  if (others.empty()) return;
  const pt2pt::Inside inside(rank.engine);
  const Result<Comm> parent =
      groups_parent(rank, *rank.store.comm_self->group, rank.store.errors_return);
  std::list<Parting> partings;
  std::erase_if(others, [&](std::int32_t r) {
    if (!job.is_guest(r) || !parent) return false;
    const bool is_known = job.entry(r).incarnation == rank.engine.incarnation(r);
    if (is_known && !memory::has_ended(job, r))
      partings.emplace_back(parent.value, rank.world_rank, r);
    return true;
  });
  const auto all_leave = [&] {
    std::erase_if(others, [&](std::int32_t r) {
      return is_leaving(job.entry(r), rank.engine.incarnation(r));
    });
    for (pt2pt::Engine* e : rank.contexts.engines) {
      if (e == &rank.engine) continue;
      const sync::Away away(rank.engine.lock);
      const pt2pt::Inside there(*e);
      pt2pt::progress(*e);
    }
    return others.empty() && std::all_of(partings.begin(), partings.end(),
                                         [](Parting& parting) { return parting.is_over(); });
  };
  look_until(rank.engine, all_leave);
}

}  // namespace weft::world
