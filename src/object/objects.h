// SPDX-License-Identifier: Apache-2.0
//
// MPI objects as state: what a communicator, group, operation, error handler, info and request *is*.
// What is done with them lives in the rooms above. Objects belong to one rank, are made in that
// rank's pools (object/store.h) and are guarded by its lock. A handle is the object's address, or a
// constant of the standard ABI for the predefined ones.
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
struct Engine;  // matching, lanes and progress of one rank
}
namespace coll {
struct CommState;  // what the collectives keep per communicator
}
}  // namespace weft

namespace weft::object {

struct Group : Object {
  std::vector<std::int32_t> members;  // world ranks, in group order
  std::int32_t rank = MPI_UNDEFINED;  // of the rank that owns the object
  int size() const { return static_cast<int>(members.size()); }
};

struct Op : Object {
  datatype::Operation operation = datatype::Operation::null;
  bool commutative = true;
  MPI_User_function* user = nullptr;
  MPI_User_function_c* user_c = nullptr;
};

struct Errhandler : Object {
  enum class What : std::uint8_t { fatal, abort, returns, comm_user, win_user, file_user, session_user };
  What what = What::fatal;
  void* function = nullptr;  // MPI_Comm_errhandler_function* and its siblings, by `what`
};

struct Info : Object {
  std::vector<std::pair<std::string, std::string>> entries;  // in order of insertion
};

/// Attributes of one object: keyval -> value, in order of setting. Callbacks: object/attribute.h.
struct Attributes {
  std::vector<std::pair<int, void*>> entries;
};

struct Topology;  // cart, graph, dist_graph (object/topology.h)

struct Comm : Object {
  std::uint32_t context = 0;  // point-to-point; context + 1 belongs to the collectives
  std::int32_t rank = 0;      // of the owning rank in `group`
  Group* group = nullptr;     // local group
  Group* remote = nullptr;    // remote group of an intercommunicator, else nullptr
  pt2pt::Engine* engine = nullptr;
  Rank* owner = nullptr;
  coll::CommState* coll = nullptr;
  Errhandler* errhandler = nullptr;
  Info* hints = nullptr;
  Topology* topology = nullptr;
  Attributes attributes;
  std::string name;
  std::uint64_t buffer_state = 0;  // reserved for MPI_Comm_attach_buffer (pt2pt/buffered.cc)

  int size() const { return group->size(); }
  bool is_inter() const { return remote != nullptr; }
  /// World ranks a message of this communicator may go to or come from.
  const std::vector<std::int32_t>& peers() const { return (remote ? remote : group)->members; }
};

/// Keep a communicator alive while an operation uses it, and let it go: the last one (after
/// MPI_Comm_free) destroys it. Under the rank's lock.
void retain(Comm& comm);
void release(Comm& comm);
void retain(const Op& op);  // no effect on predefined operations, like the next
void release(const Op& op);

/// inout[i] = in[i] op inout[i] for `count` elements of `type` (object/op.cc): a predefined operation
/// by datatype::reduce, a user's by its function (in pieces of INT_MAX elements if it takes an int).
void apply(const Op& op, const datatype::Type& type, const void* in, void* inout, std::int64_t count);

}  // namespace weft::object
