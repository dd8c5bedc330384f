// SPDX-License-Identifier: Apache-2.0
#include "world/session.h"

#include <strings.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "object/errors.h"
#include "object/group.h"
#include "object/info.h"
#include "pt2pt/completion.h"
#include "world/comm_agree.h"
#include "world/rank.h"

namespace weft::world {
namespace {

constexpr const char* psets[pset_count] = {"mpi://WORLD", "mpi://SELF", "weft://node",
                                           "weft://socket"};
constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                          MPI_THREAD_MULTIPLE};
constexpr const char* level_key = "thread_level";
constexpr const char* kinds_key = "mpi_memory_alloc_kinds";

/// Are two ranks of one node in the same socket? Where nobody knows the node is one.
bool share_socket(const topo::Hierarchy& hierarchy, int a, int b) {
  const int level = hierarchy.level_named("Package");
  return level < 0 || hierarchy.group_of(level, a) == hierarchy.group_of(level, b);
}

/// The ranks of a process set that the caller is in, in order.
Result<Members> members_of(const Rank& rank, std::string_view name) {
  memory::Job& job = *rank.process->job;
  // Scheme and authority of a URI know no case (RFC 3986), and the names have nothing else.
  const auto is_it = [name](std::string_view known) {
    return known.size() == name.size() && strncasecmp(known.data(), name.data(), name.size()) == 0;
  };
  const auto at = std::find_if(std::begin(psets), std::end(psets), is_it) - std::begin(psets);
  if (at == pset_count)
    return fail(MPI_ERR_ARG,
                "there is no process set \"%.*s\"; MPI_Session_get_nth_pset gives the names of "
                "those that there are",
                static_cast<int>(std::min<std::size_t>(name.size(), 80)), name.data());
  const int me = rank.world_rank;
  const topo::Hierarchy hierarchy = job.hierarchy();
  Members members;
  const memory::World& world = rank.process->world;
  for (int r = world.first; r < world.end(); ++r) {
    const bool on_node = job.node_of(r) == job.node_of(me);
    const bool is_in[pset_count] = {true, r == me, on_node,
                                    on_node && share_socket(hierarchy, me, r)};
    if (is_in[at]) members.push_back(r);
  }
  return members;
}

Result<int> level_of(const Rank& rank, const object::Info* info) {
  const std::string* wanted = object::info_find(info, level_key);
  // acquire: pairs with MPI_Init
  const bool has_world =
      rank.world_model.load(std::memory_order_acquire) == Rank::Phase::initialized;
  if (wanted == nullptr) return has_world ? rank.thread_level : int{MPI_THREAD_SINGLE};
  for (const int level : levels)
    if (*wanted == thread_level_name(level)) return level;
  return fail(MPI_ERR_INFO_VALUE,
              "thread_level is \"%.80s\"; expected MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, "
              "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
              wanted->c_str());
}

/// Communicators that the program has left. What is under way keeps them.
void free_comms(Rank& rank, std::uint32_t session) {
  std::vector<Comm*> left;
  {
    const sync::Guard guard(rank.store.lock);
    for (Comm* comm : rank.contexts.comms)
      if (comm->session == session && !comm->freed) left.push_back(comm);
  }
  for (Comm* comm : left) {
    const pt2pt::Inside inside(*comm->engine);
    comm->freed = true;
    object::give_up(*comm);
  }
}

}  // namespace

const char* thread_level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

Err session_init(Rank& rank, const object::Info* info, object::Errhandler& errhandler,
                 MPI_Session* out) {
  *out = MPI_SESSION_NULL;
  const Result<int> wanted = level_of(rank, info);
  if (!wanted) return wanted.err;
  object::Errhandler* handler = nullptr;
  WEFT_TRY(object::set_errhandler(&handler, object::Errhandler::What::session_user, errhandler));
  // What comes later may want more threads, which is less work now.
  int level = rank.open_level < 0 ? int{MPI_THREAD_MULTIPLE} : wanted.value;
  if (const Err err = add_user(rank, &level)) {
    object::release(*handler);
    return err;
  }
  object::Store& store = rank.store;
  Session* session = store.sessions.create();
  session->number = ++store.last_session;
  session->thread_level = std::min(level, wanted.value);
  session->errhandler = handler;
  session->store = &store;
  store.open_sessions.emplace(session->number, session);
  *out = object::handle_of(*session);
  return ok;
}

Err session_finalize(Rank& rank, Session& session, MPI_Session* handle) {
  pt2pt::Engine& engine = rank.engine;
  {
    const pt2pt::Inside inside(engine);
    void* buffer = nullptr;
    std::int64_t size = 0;
    WEFT_TRY(pt2pt::buffer_detach(engine, &session, static_cast<void*>(&buffer), &size));
    pt2pt::forget_buffer(engine, &session);
  }
  free_comms(rank, session.number);
  prepare_to_leave(rank);
  object::Errhandler* handler = session.errhandler;
  {
    const sync::Guard guard(rank.store.lock);
    rank.store.open_sessions.erase(session.number);
    rank.store.sessions.destroy(&session);
    drop_user(rank);
  }
  object::release(*handler);
  *handle = MPI_SESSION_NULL;
  return ok;
}

Err session_info(Rank& rank, const Session& session, MPI_Info* out) {
  object::create_info(rank.store, out);
  object::Info& info = *rank.store.info(*out);
  WEFT_TRY(object::info_set(info, level_key, thread_level_name(session.thread_level)));
  return object::info_set(info, kinds_key, "mpi,system");
}

Err nth_pset(int n, int* length, char* name) {
  if (n < 0 || n >= pset_count)
    return fail(MPI_ERR_ARG, "n is %d; there are process sets 0 to %d", n, pset_count - 1);
  if (*length < 0)
    return fail(MPI_ERR_ARG, "*pset_len is %d; expected the room for the name, or 0", *length);
  const std::size_t needed = std::strlen(psets[n]) + 1;
  if (*length > 0) {
    const std::size_t room = std::min(needed, static_cast<std::size_t>(*length));
    std::memcpy(name, psets[n], room - 1);
    name[room - 1] = 0;
  }
  *length = static_cast<int>(needed);
  return ok;
}

Err pset_info(Rank& rank, const char* name, MPI_Info* out) {
  const Result<Members> members = members_of(rank, name);
  if (!members) return members.err;
  object::create_info(rank.store, out);
  return object::info_set(*rank.store.info(*out), "mpi_size",
                          std::to_string(members.value.size()).c_str());
}

Err group_from_pset(Rank& rank, const Session& session, const char* name, MPI_Group* out) {
  Result<Members> members = members_of(rank, name);
  if (!members) return members.err;
  object::Group* group = object::make_group(rank.store, std::move(members.value));
  group->session = session.number;
  *out = object::handle_of(*group);
  return ok;
}

}  // namespace weft::world
