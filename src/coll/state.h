// SPDX-License-Identifier: Apache-2.0
//
// What the collectives keep per communicator and rank, and how an operation is launched: take a
// schedule that is kept, or let an algorithm emit into an idle one, and give it to whoever runs it.
#pragma once

#include <deque>
#include <memory>

#include "coll/choose.h"
#include "coll/coll.h"
#include "coll/schedule.h"
#include "coll/signature.h"
#include "pt2pt/engine.h"

namespace weft::coll {

class Shared;      // block/shared.h
struct NodeState;  // boards/node.h

/// The parameters of a communicator's collectives; hints may have changed them (MPI-5.0 §7.4.4).
struct Settings {
  static constexpr int collectives =
      static_cast<int>(P::coll_scatter) - static_cast<int>(P::coll_allgather) + 1;
  bool compare = false;  // abi.check=full
  bool explain = false;
  bool reproducible = false;
  bool user_ops_anywhere = false;       // also on a progress thread
  double explore = 0;                   // how much dearer a way may be to be tried; 0: none is
  bool ways_matter = false;             // if `explain` or one of these is set
  std::uint8_t ways[collectives] = {};  // coll.allgather to coll.scatter
};

/// The arguments of a call whose schedule may be kept. Types and operations are predefined: others
/// may end, and new ones have their addresses.
struct Arguments {
  Call call;
  int root = Signature::no_root;
  const void* from = nullptr;
  const void* to = nullptr;
  std::int64_t count = 0;
  const Type* type = nullptr;
  const Op* op = nullptr;
  int board = 0;  // of the ring: schedules name places in its areas
  bool operator==(const Arguments&) const = default;
};

/// A schedule that has run, for the next blocking call with the same arguments: to emit one takes
/// several times as long as to run it. All else that it depends on is the communicator's.
struct Kept {
  Arguments of;
  bool meets = false;            // at a board
  Schedule* schedule = nullptr;  // null: there is none, or it runs
};

struct CommState {
  Settings settings;
  std::unique_ptr<Choices> choices;  // made when first wanted
  Schedule* idle = nullptr;          // free list
  std::unique_ptr<Kept[]> kept;      // kept_schedules of them, or none yet
  Shared* shared = nullptr;          // flags and slots; made at the first blocking collective
  bool shared_tried = false;
  std::deque<object::Request*> boardless;  // nonblocking ones that wait for a board, in order
  NodeState* node = nullptr;               // levels and boards; made when first wanted
  std::uint32_t told[Settings::collectives] = {};  // bit per way: has been said
};

/// The shared block if a blocking operation may use it, the same answer on all ranks; else null.
Shared* shared_for(Call call, Comm& comm, const How& how);

/// The prices between the ranks of a communicator, as the launcher wrote them, and what has been
/// chosen by them; the same on all ranks.
Choices& choices_of(Comm& comm);
/// The way asked for (coll.bcast, ...); null: none.
[[gnu::cold]] const Way* way_asked_for(const Comm& comm, Call call);
inline const Way* asked_way(const Comm& comm, Call call) {
  return comm.coll->settings.ways_matter ? way_asked_for(comm, call) : nullptr;
}
/// Say once which way a call goes, if that is wanted (coll.explain).
[[gnu::cold]] void tell_once(Comm& comm, Call call, std::int64_t bytes, const Way& way);
inline void tell_way(Comm& comm, Call call, std::int64_t bytes, const Way& way) {
  if (comm.coll->settings.explain) [[unlikely]]
    tell_once(comm, call, bytes, way);
}
/// Say that times have decided for another way, if that is wanted. The times are those of such a
/// call.
[[gnu::cold]] void tell_change(const Comm& comm, Call call, std::int64_t bytes, const Way& before,
                               double before_ns, const Way& now, double now_ns);
/// Levels and boards of the communicator, made when first wanted.
NodeState& node_state(Comm& comm);

/// Emit a schedule at a board, or for messages, and run it as `how` says. `tried`: the way of a
/// call that is timed; else choose() says which.
Err run_schedule(const Operation& o, Case c, Comm& comm, const How& how, const Signature& mine,
                 const Way* tried = nullptr);

/// Is this a blocking call with nobody to meet?
inline bool is_alone(const Comm& comm, const How& how) {
  return how.what == How::blocking && comm.size() == 1 && !comm.is_inter();
}
/// All that is left of a collective of one rank; nothing if `from` is MPI_IN_PLACE.
Err copy_alone(const ConstBuffer& from, const Buffer& to);

/// The communicator's block and boards if this rank or another one has made them; else null.
Shared* shared_if_any(Comm& comm);
Boards* boards_if_any(Comm& comm);

/// An empty schedule for an operation that the user called: with abi.check=full it compares first.
Schedule& take_schedule(Comm& comm, const Signature& mine);
/// When what they depend on changes.
void forget_schedules(CommState& state);
/// Run `schedule` as `how` says. Everybody who takes part calls take and launch in the same order.
Err launch(Schedule& schedule, Comm& comm, const How& how);

/// Emit and run a schedule that needs no choice.
template <class Emit>
Err run_emitted(Comm& comm, const How& how, const Signature& mine, Emit&& emit) {
  Schedule& s = take_schedule(comm, mine);
  emit(s);
  return launch(s, comm, how);
}

inline Position position(const Comm& comm) {
  return {comm.rank, comm.size()};
}
inline int remote_size(const Comm& comm) {
  return comm.remote->size();
}

}  // namespace weft::coll
