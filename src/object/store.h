// SPDX-License-Identifier: Apache-2.0
//
// The Store: what one rank owns of MPI objects. Pools for everything the user can make, the
// predefined objects, keyvals, error codes. Handles become objects here: a constant of the ABI
// gives this rank's object, anything else is checked to be a live object of the right kind. Guarded
// by `lock`. Point-to-point requests and messages have pools in pt2pt::Engine.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/pool.h"
#include "datatype/api.h"
#include "object/attribute.h"
#include "object/errors.h"
#include "object/objects.h"
#include "object/op.h"
#include "object/request.h"
#include "object/tool.h"
#include "object/types.h"
#include "sync/lock.h"

namespace weft::memory {
class Job;
}

namespace weft::object {

/// Values behind the predefined attributes of communicators; users get their addresses.
struct WorldFacts {
  int tag_ub = 0x7fffffff;
  int io = MPI_ANY_SOURCE;
  int host = MPI_PROC_NULL;
  int wtime_is_global = 1;
  int appnum = 0;
  int universe_size = 1;
};

struct Store {
  Store();
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The object lock: guards all that is here, and what objects have that can change (attributes,
  /// names, hints, error handlers). The innermost lock: taken under a context's
  /// (pt2pt::Engine::lock), never the other way round, and not held while a callback of the user
  /// runs.
  sync::RankLock lock;

  Pool<Comm, Kind::comm> comms;
  Pool<Group, Kind::group> groups;
  Pool<Op, Kind::op> ops;
  Pool<Errhandler, Kind::errhandler> errhandlers;
  Pool<Info, Kind::info> infos;
  Pool<Session, Kind::session> sessions;
  Pool<Request, Kind::request> requests;  // of collectives and generalized requests

  datatype::Context types;
  ToolObjects tools;

  std::int32_t world_rank = 0;
  memory::Job* job = nullptr;  // until the library has started
  Comm* comm_world = nullptr;  // from MPI_Init to MPI_Finalize
  Comm* comm_self = nullptr;
  Group* group_empty = nullptr;
  Info* info_env = nullptr;
  Errhandler errors_are_fatal, errors_abort, errors_return;
  WorldFacts facts;

  Keyvals keyvals;
  ErrorCodes error_codes;
  std::unordered_map<const datatype::Type*, TypeExtra> type_extras;  // of predefined types
  std::unordered_set<void*> memory;                                  // that MPI_Alloc_mem gave
  std::unordered_map<std::uint32_t, Session*> open_sessions;         // by number
  std::uint32_t last_session = 0;
  /// A communicator is about to be destroyed: the rooms above free what they keep with it.
  void (*comm_gone)(Comm& comm) = nullptr;

  /// Handle -> object; nullptr for the null handle, for what is no live object of the kind, and for
  /// another rank's, whose lock the caller does not hold.
  Comm* comm(MPI_Comm handle);
  Group* group(MPI_Group handle);
  const Op* op(MPI_Op handle) const;
  Errhandler* errhandler(MPI_Errhandler handle);
  Info* info(MPI_Info handle);
  Session* session(MPI_Session handle);
  const datatype::Type* type(MPI_Datatype handle) const { return datatype::from_handle(handle); }

  Request* create_request();
  void destroy(Request* request);
};

/// What is below this is a constant of the ABI (a predefined handle, MPI_IN_PLACE, null), never an
/// address: no object of a program lies there.
inline constexpr std::uintptr_t first_address = 4096;
template <class Handle>
bool is_constant(Handle handle) {
  return reinterpret_cast<std::uintptr_t>(handle) < first_address;
}

[[gnu::always_inline]] inline Comm* Store::comm(MPI_Comm handle) {
  if (handle == MPI_COMM_WORLD) return comm_world;
  if (handle == MPI_COMM_SELF) return comm_self;
  if (is_constant(handle) || !is_live(handle, Kind::comm)) return nullptr;
  Comm* comm = reinterpret_cast<Comm*>(handle);
  return comm->freed ? nullptr : comm;
}

inline Group* Store::group(MPI_Group handle) {
  if (handle == MPI_GROUP_EMPTY) return group_empty;
  if (is_constant(handle) || !is_live(handle, Kind::group)) return nullptr;
  Group* group = reinterpret_cast<Group*>(handle);
  return group->store == this ? group : nullptr;
}

inline const Op* Store::op(MPI_Op handle) const {
  if (is_constant(handle)) return predefined_op(handle);
  if (!is_live(handle, Kind::op)) return nullptr;
  const Op* op = reinterpret_cast<const Op*>(handle);
  return op->freed || op->store != this ? nullptr : op;
}

inline Session* Store::session(MPI_Session handle) {
  if (is_constant(handle) || !is_live(handle, Kind::session)) return nullptr;
  Session* session = reinterpret_cast<Session*>(handle);
  return session->store == this ? session : nullptr;
}

inline Info* Store::info(MPI_Info handle) {
  if (handle == MPI_INFO_ENV) return info_env;
  if (is_constant(handle) || !is_live(handle, Kind::info)) return nullptr;
  Info* info = reinterpret_cast<Info*>(handle);
  return info->store == this ? info : nullptr;
}

}  // namespace weft::object
