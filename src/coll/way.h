// SPDX-License-Identifier: Apache-2.0
//
// The ways of a collective by name: which one the user asked for (coll.bcast, ...), and telling
// once which one is taken (coll.explain). All ranks have the same parameters, so all agree.
#pragma once

#include <algorithm>
#include <bit>
#include <string_view>

#include "coll/advice.h"
#include "coll/select.h"
#include "coll/shared/block.h"
#include "coll/signature.h"
#include "coll/state.h"
#include "pt2pt/engine.h"

namespace weft::coll {

/// Where the data of a collective goes. A schedule has more names (select.h).
enum class Way : std::uint8_t { automatic, slots, direct, block, schedule };

/// The parameter that decides about this call (v and w forms too), counted from coll.allgather; -1:
/// none.
int way_parameter(Call call);
const ParamDef& way_definition(Call call);
/// The name asked for; empty if none is.
std::string_view asked_way(const Comm& comm, Call call);
Way asked_kind(const Comm& comm, Call call);
/// What `name` is for this call; automatic if it is empty.
Way kind_of(Call call, std::string_view name);

/// What a rank's slot would hold of a call with blocks (or a vector) of `bytes`.
inline std::int64_t held_by_slot(Call call, std::int64_t bytes, int ranks) {
  const bool scan = call == Call::scan || call == Call::exscan;
  if (scan && ranks > scan_ranks_max && bytes > 0) return INT64_MAX;
  return call == Call::scatter || call == Call::alltoall ? bytes * ranks : bytes;
}

/// What decides where the data of a blocking call goes; the same on all ranks.
struct WayCase {
  Call call;
  std::int64_t bytes;  // of a block or vector
  int ranks;
  std::int64_t slot_bytes;
  bool reach;  // may go direct, and ranks reach each other's buffers
  bool crowded;
  bool far;
  Way asked = Way::automatic;
  Way advised = Way::automatic;  // by the model (advice.h)
};
/// The most that goes by slots: of several ranks, `window` of them do not stay in a core's first
/// cache, pieces and strips do. Measured, bench collectives, 2 processes, 2-core EPYC, 2026-11-22,
/// 4 KiB in slots and not: allgather 0.29 and 0.25 us (far 0.82 and 0.68), reduce 0.21 and 0.19.
inline std::int64_t slot_max(const WayCase& c) {
  return c.ranks <= flat_max && !c.crowded ? std::min<std::int64_t>(c.slot_bytes, 2048)
                                           : c.slot_bytes;
}
inline Way choose_way(const WayCase& c) {
  const std::int64_t held = held_by_slot(c.call, c.bytes, c.ranks);
  if (held > 0 && ((c.asked == Way::direct && c.reach) || c.asked == Way::block)) return c.asked;
  if (held > inline_max && c.advised != Way::automatic) return c.advised;
  if (held <= slot_max(c) || (c.asked == Way::slots && held <= c.slot_bytes)) return Way::slots;
  return c.reach && worth_direct(c.call, c.bytes, c.ranks, c.far) ? Way::direct : Way::block;
}
/// The size that stands for `bytes`: the next power of two.
inline std::int64_t size_class(std::int64_t bytes) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
}

/// The prices between the ranks of a communicator, as the launcher wrote them; the same on all.
model::Machine machine_between(const Comm& comm);

/// The fastest of the ways through shared memory, by the model (coll/candidates.cc).
Way fastest_shared(const model::Machine& x, const WayCase& c);

inline Way advised(Advice& advice, const WayCase& c) {
  const int row = way_parameter(c.call);
  const int column = std::bit_width(static_cast<std::uint64_t>(c.bytes - 1));
  if (c.bytes <= 0 || row < 0 || column >= Advice::size_classes) return Way::automatic;
  std::uint8_t& way = advice.way[c.reach][row][column];
  if (way == 0) [[unlikely]]
    way = static_cast<std::uint8_t>(fastest_shared(advice.machine, c));
  return static_cast<Way>(way);
}

const char* name_of(Call call, Way way);

/// What a way through the block is called: pieces what flows one way, else strips.
const char* block_name(Call call);

/// Say that `call` goes the way `name`, if that is wanted and has not been said.
[[gnu::cold]] void explain_way(Comm& comm, Call call, std::int64_t bytes, const char* name);
inline void tell_way(Comm& comm, Call call, std::int64_t bytes, const char* name) {
  if (comm.coll->settings.explain) [[unlikely]]
    explain_way(comm, call, bytes, name);
}

/// The algorithm for a schedule of `call`.
template <class Emit>
Emit* pick(Comm& comm, Call call, Chosen<Emit> (*choose)(const Case&), Case c) {
  c.ranks = comm.size();
  c.reproducible = comm.coll->settings.reproducible;
  if (comm.coll->settings.ways_matter) [[unlikely]]
    c.asked = asked_way(comm, call);
  const Chosen<Emit> chosen = choose(c);
  tell_way(comm, call, c.bytes, chosen.name);
  return chosen.emit;
}

}  // namespace weft::coll
