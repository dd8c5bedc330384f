// SPDX-License-Identifier: Apache-2.0
//
// MPI objects as state: what a communicator, group, operation, error handler, info and request
// *is*. What is done with them lives in the rooms above. Objects belong to one rank, are made in
// that rank's pools (object/store.h) and are guarded by its object lock. A handle is the object's
// address, or a constant of the standard ABI for the predefined ones.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "datatype/reduce.h"
#include "datatype/type.h"

namespace weft {
struct Rank;  // world/rank.h: everything a rank owns
namespace pt2pt {
struct About;    // what a wait is for, in words
struct Engine;   // matching and progress of one communication context
struct Waiting;  // a thread in a blocking call
}  // namespace pt2pt
namespace coll {
struct CommState;  // what the collectives keep per communicator
}
}  // namespace weft

namespace weft::object {

struct Store;  // object/store.h: the pools and tables of one rank

/// Constant once made. Communicators share one; a handle of the user is always an object of its
/// own.
struct Group : Object {
  std::vector<std::int32_t> members;  // world ranks, in group order
  std::uint32_t session = 0;          // that it was derived from, or 0
  std::int32_t rank = MPI_UNDEFINED;  // of the rank that owns the object
  Store* store = nullptr;
  bool has_guests = false;  // counts as a user of them (memory/guests.h)
  int size() const { return static_cast<int>(members.size()); }
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();
};

struct Op : Object {
  datatype::Operation operation = datatype::Operation::null;
  bool commutative = true;
  MPI_User_function* user = nullptr;
  MPI_User_function_c* user_c = nullptr;
  bool freed = false;      // by the user; pending operations keep it
  Store* store = nullptr;  // null for the predefined ones, which all ranks share
};

struct Errhandler : Object {
  enum class What : std::uint8_t {
    fatal,
    abort,
    returns,
    comm_user,
    win_user,
    file_user,
    session_user
  };
  What what = What::fatal;
  void* function = nullptr;  // MPI_Comm_errhandler_function* and its siblings, by `what`
  std::int32_t handles = 1;  // how many of `refs` the user holds
  Store* store = nullptr;    // null for the predefined ones
};

/// Opened by MPI_Session_init. Groups and communicators name it by its number, which is given once:
/// they may be there when it is gone.
struct Session : Object {
  std::uint32_t number = 0;
  std::int32_t thread_level = 0;
  Errhandler* errhandler = nullptr;
  Store* store = nullptr;
};

struct Info : Object {
  std::vector<std::pair<std::string, std::string>> entries;  // in order of insertion
  Store* store = nullptr;                                    // of those with a handle
};

/// Attributes of one object: keyval -> value, in order of setting. Callbacks: object/attribute.h.
struct Attributes {
  std::vector<std::pair<int, void*>> entries;
};

struct Topology;  // Cartesian, graph or distributed graph (object/topology.h)

struct Comm : Object {
  /// Message spaces: context for point-to-point, + 1 for the collectives, + 2 and + 3 for
  /// construction (world/comms.h), + 4 and + 5 for partitioned communication.
  std::uint64_t context = 0;
  std::uint32_t session = 0;  // that it was derived from, or 0
  std::int32_t rank = 0;      // of the owning rank in `group`
  Group* group = nullptr;     // local group
  Group* remote = nullptr;    // remote group of an intercommunicator, else nullptr
  pt2pt::Engine* engine = nullptr;
  Rank* owner = nullptr;
  Store* store = nullptr;
  coll::CommState* coll = nullptr;
  Errhandler* errhandler = nullptr;
  Info* hints = nullptr;
  Topology* topology = nullptr;
  Attributes attributes;
  std::string name;
  std::uint32_t constructions = 0;  // collective constructions begun on it, the same at all members
  std::uint32_t operations = 0;     // collectives by messages begun on it, likewise; the next's tag
  std::uint32_t partitions = 0;     // messages of partitioned sends made on it; the next's tag
  std::uint32_t users = 0;          // operations that keep it, unless by_tag; under `engine`'s lock
  std::int32_t orphans = 0;  // operations under way whose requests the user has freed; atomic
  bool threads = false;      // several threads of the rank may use it at once
  bool by_tag = false;       // its messages go to contexts by tag (pt2pt::engine_for)
  bool freed = false;        // by the user; pending operations keep it

  int size() const { return group->size(); }
  bool is_inter() const { return remote != nullptr; }
  /// Has it members of another job?
  bool spans_jobs() const { return group->has_guests || (remote != nullptr && remote->has_guests); }
  /// World ranks a message of this communicator may go to or come from.
  const std::vector<std::int32_t>& peers() const { return (remote ? remote : group)->members; }
};

/// The handle of an object: a constant for the predefined ones, else its address.
MPI_Comm handle_of(const Comm& comm);
MPI_Group handle_of(const Group& group);
MPI_Op handle_of(const Op& op);
MPI_Session handle_of(const Session& session);
MPI_Errhandler handle_of(const Errhandler& errhandler);

/// Keep a communicator alive while an operation uses it, and let it go; under the lock of the
/// operation's context. All operations together are one owner, if they are all of one context.
void retain(Comm& comm);
void release(Comm& comm);
/// The user gives it up; the last owner destroys it.
void give_up(Comm& comm);
/// The same for operations and error handlers; no effect on the predefined ones.
void retain(const Op& op);
void release(const Op& op);
void retain(Errhandler& errhandler);
void release(Errhandler& errhandler);

/// inout[i] = in[i] op inout[i] for `count` elements of `type` (object/op.cc): a predefined
/// operation by datatype::reduce, a user's by its function (in pieces of INT_MAX elements if it
/// takes an int). `in` and `inout` do not overlap.
void apply(const Op& op, const datatype::Type& type, const void* in, void* inout,
           std::int64_t count);

}  // namespace weft::object
