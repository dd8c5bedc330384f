// SPDX-License-Identifier: Apache-2.0
//
// The predefined communicators, and the end of communicators. Freeing is local: what is still in
// flight keeps the object until it is done (object::release).
#include <stdio.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#pragma GCC visibility push(default)
#include "weft/host.h"
#pragma GCC visibility pop
#include "coll/coll.h"
#include "memory/spawning.h"
#include "object/attribute.h"
#include "object/errors.h"
#include "object/group.h"
#include "object/info.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/connected.h"
#include "world/rank.h"
#include "world/session.h"

#pragma weak weft_host_arguments

namespace weft::world {
namespace {

void detach(Comm& comm) {
  if (comm.coll != nullptr) coll::detach(comm);
}

/// The rank's command line, as it was before main could change it.
void read_command(object::Start& start, int world_rank) {
  if (weft_host_arguments) {
    int argc = 0;
    char** argv = nullptr;
    weft_host_arguments(world_rank, &argc, &argv);
    return object::set_command(start, argc, argv);
  }
  FILE* file = std::fopen("/proc/self/cmdline", "re");
  if (file == nullptr) return;
  char text[4096];
  const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[n] = 0;
  std::vector<char*> argv;
  for (std::size_t at = 0; at < n; at += std::strlen(text + at) + 1) argv.push_back(text + at);
  object::set_command(start, static_cast<int>(argv.size()), argv.data());
}

Members members_of(const memory::World& world) {
  Members out(static_cast<std::size_t>(world.size));
  std::iota(out.begin(), out.end(), world.first);
  return out;
}

Comm* make_predefined(Rank& rank, Members members, Members remote, std::uint64_t context,
                      const char* name) {
  object::Store& store = rank.store;
  const sync::Guard guard(store.lock);
  Comm* comm = store.comms.create();
  comm->threads = store.lock.enabled();
  comm->engine = &rank.engine;
  comm->owner = &rank;
  comm->store = &store;
  comm->errhandler = &store.errors_are_fatal;
  comm->name = name;
  complete(*comm, std::move(members), std::move(remote), context);
  return comm;
}

Err refuse_predefined(const Comm& comm) {
  if (&comm != comm.store->comm_world && &comm != comm.store->comm_self) return ok;
  return fail(MPI_ERR_COMM, "%s is predefined and cannot be freed or disconnected",
              comm.name.c_str());
}

}  // namespace

namespace {
void fill_env_info(Rank& rank, const char* thread_level) {
  const memory::RankEntry& entry = rank.entry();
  object::Start start;
  start.maxprocs = entry.app_size > 0 ? entry.app_size : rank.process->world.size;
  read_command(start, rank.world_rank);
  start.thread_level = thread_level;
  object::fill_env_info(*rank.store.info_env, start);
}
}  // namespace

void prepare_store(Rank& rank) {
  object::Store& store = rank.store;
  memory::Job& job = *rank.engine.job;
  store.world_rank = rank.world_rank;
  store.job = &job;
  store.comm_gone = detach;
  // The same for all worlds, as far as the job has places for so many ranks; and no fewer than this
  // world and those before it have.
  store.facts.universe_size = std::max(
      rank.process->world.end(), std::min(static_cast<int>(job.header().universe), job.places()));
  store.facts.appnum = rank.entry().appnum;
  fill_env_info(rank, nullptr);
}

Err make_predefined_comms(Rank& rank) {
  object::Store& store = rank.store;
  memory::Job& job = *rank.engine.job;
  const memory::RankEntry& entry = rank.entry();
  fill_env_info(rank, thread_level_name(rank.thread_level));
  const Members everybody = members_of(rank.process->world);
  const memory::Order* order = entry.order != 0 ? &memory::order_at(job, entry.order) : nullptr;
  const std::uint64_t context = order != nullptr ? order->world : world_context;
  store.comm_world = make_predefined(rank, everybody, {}, context, "MPI_COMM_WORLD");
  store.comm_self = make_predefined(rank, {rank.world_rank}, {}, self_context, "MPI_COMM_SELF");
  if (order != nullptr) {
    Members parents = memory::parents_of(job, *order);
    for (pt2pt::Engine* e : rank.contexts.engines) e->meet(parents);
    rank.parent =
        make_predefined(rank, everybody, std::move(parents), order->link, "MPI_COMM_PARENT");
  }
  return ok;
}

Err set_errhandler(Comm& comm, Errhandler& errhandler) {
  using What = Errhandler::What;
  WEFT_TRY(object::set_errhandler(&comm.errhandler, What::comm_user, errhandler));
  const bool returns = errhandler.what != What::fatal && errhandler.what != What::abort;
  if (&comm == comm.store->comm_world)
    comm.owner->entry().survives.store(returns ? 1 : 0, std::memory_order_relaxed);
  return ok;
}

Err delete_self_attributes(Rank& rank) {
  for (Comm* comm : {rank.store.comm_self, rank.store.comm_world})
    WEFT_TRY(object::delete_attributes(rank.store, object::holder(*comm)));
  return ok;
}

void free_predefined_comms(Rank& rank) {
  object::Store& store = rank.store;
  for (Comm** comm : {&store.comm_self, &store.comm_world}) {
    object::give_up(**comm);
    *comm = nullptr;
  }
}

namespace {

Err end_comm(Comm& comm, MPI_Comm* handle, bool disconnects) {
  WEFT_TRY(refuse_predefined(comm));
  {
    const sync::Away away(comm.engine->lock);  // the callbacks may call anything
    WEFT_TRY(object::delete_attributes(*comm.store, object::holder(comm)));
  }
  if (comm.owner->parent == &comm) comm.owner->parent = nullptr;
  stays_connected(comm, !disconnects);
  comm.freed = true;
  object::give_up(comm);
  *handle = MPI_COMM_NULL;
  return ok;
}

}  // namespace

Err comm_free(Comm& comm, MPI_Comm* handle) {
  return end_comm(comm, handle, false);
}

Err comm_disconnect(Comm& comm, MPI_Comm* handle) {
  WEFT_TRY(refuse_predefined(comm));
  // What the user still holds is complete or inactive (§11.10.4, as in MPI_Finalize).
  const pt2pt::About about{.comm = &comm};
  pt2pt::wait_until(*comm.engine, [&] { return object::orphans_of(comm) == 0; }, {.about = &about});
  // Who has left may end, and another rank have its place.
  if (is_connection(comm)) WEFT_TRY(coll::barrier(comm));
  return end_comm(comm, handle, true);
}

}  // namespace weft::world
