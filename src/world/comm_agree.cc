// SPDX-License-Identifier: Apache-2.0
//
// The messages of construction. Trees are binomial: rank r hears from r without its lowest set bit.
#include "world/comm_agree.h"

#include <unistd.h>

#include <climits>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "coll/coll.h"
#include "memory/job.h"
#include "object/group.h"
#include "object/store.h"
#include "pt2pt/deaths.h"
#include "pt2pt/engine.h"
#include "world/rank.h"

namespace weft::world {
namespace {

/// Wait for a message of ours and give its request back.
Err finish(pt2pt::Request* request) {
  pt2pt::wait_for(*request);
  const int error = request->error;
  pt2pt::free_request(request);
  if (error == MPI_SUCCESS || error == MPI_ERR_PROC_ABORTED) return Err{error};
  return fail(error,
              "the ranks of the new communicator disagree: a message of its construction has an "
              "unexpected length. All of its members must make the same call");
}

Err send(View& view, const void* data, std::size_t bytes, int to, int tag) {
  return finish(view.post_send(data, bytes, to, tag));
}

}  // namespace

View::View(const Comm& parent, Among among, Members members) {
  group_.kind = Kind::group;
  group_.refs = 1;
  group_.members = std::move(members);
  group_.rank = object::rank_in(group_, parent.store->world_rank);
  comm_.kind = Kind::comm;
  comm_.refs = 1;
  // pt2pt::post_* add 1 for the space of collectives.
  comm_.context = parent.context + static_cast<std::uint64_t>(among);
  comm_.group = &group_;
  comm_.engine = parent.engine;
  comm_.owner = parent.owner;
  comm_.store = parent.store;
}

Err View::died() {
  return pt2pt::died_if_any(comm_);
}

Err View::tell(const void* data, std::size_t bytes, int to, int tag) {
  return send(*this, data, bytes, to, tag);
}

Err View::receive(void* data, std::size_t bytes, int from, int tag) {
  return finish(post_recv(data, bytes, from, tag));
}

pt2pt::Request* View::post_recv_from_any(void* data, std::size_t bytes, int tag) {
  const pt2pt::Buffer into{data, static_cast<std::int64_t>(bytes), &datatype::byte_type()};
  return pt2pt::post_recv(into, MPI_ANY_SOURCE, tag, comm_);
}

pt2pt::Request* View::post_send(const void* data, std::size_t bytes, int to, int tag) {
  memory::Job& job = *comm_.engine->job;
  const std::int32_t own = comm_.store->world_rank;
  const bool leaves_job = job.is_guest(group_.members[static_cast<std::size_t>(to)]);
  comm_.rank = leaves_job ? memory::name_of(job, own) : own;
  return pt2pt::post_send({data, static_cast<std::int64_t>(bytes), &datatype::byte_type()}, to, tag,
                          comm_);
}

pt2pt::Request* View::post_recv(void* data, std::size_t bytes, int from, int tag) {
  memory::Job& job = *comm_.engine->job;
  const std::int32_t member = group_.members[static_cast<std::size_t>(from)];
  const std::int32_t source = job.is_guest(member) ? memory::name_of(job, member) : member;
  return pt2pt::post_recv({data, static_cast<std::int64_t>(bytes), &datatype::byte_type()}, source,
                          tag, comm_);
}

TreePlace tree_place(int rank, int size) {
  TreePlace place;
  int bit = 1;
  while (bit < size && (rank & bit) == 0) bit <<= 1;
  if (rank != 0) place.parent = rank & ~bit;
  for (bit >>= 1; bit > 0; bit >>= 1)
    if (rank + bit < size) place.children.push_back(rank + bit);
  return place;
}

Err View::bcast(void* data, std::size_t bytes, int tag, int root) {
  const int n = size();
  const TreePlace place = tree_place((rank() - root + n) % n, n);
  const auto real = [&](int r) { return (r + root) % n; };
  if (place.parent >= 0) WEFT_TRY(receive(data, bytes, real(place.parent), tag));
  for (const int child : place.children) WEFT_TRY(send(*this, data, bytes, real(child), tag));
  return ok;
}

Err View::gather(const void* mine, std::size_t bytes, void* all, int tag) {
  // The subtree of rank r is the ranks from r on, so its records are one block.
  const TreePlace place = tree_place(rank(), size());
  const int below = place.children.empty() ? 1 : 2 * (place.children.front() - rank());
  const int mine_and_below = std::min(below, size() - rank());
  std::vector<std::byte> own(place.parent >= 0 ? bytes * static_cast<std::size_t>(mine_and_below)
                                               : 0);
  auto* block = place.parent >= 0 ? own.data() : static_cast<std::byte*>(all);
  std::memcpy(block, mine, bytes);
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
    const int first = *child - rank();
    const int n = std::min(first, mine_and_below - first);
    WEFT_TRY(receive(block + bytes * static_cast<std::size_t>(first),
                     bytes * static_cast<std::size_t>(n), *child, tag));
  }
  if (place.parent < 0) return ok;
  return send(*this, block, own.size(), place.parent, tag);
}

Err View::exchange(const void* mine, void* theirs, std::size_t bytes, int with, int tag) {
  pt2pt::Request* incoming = post_recv(theirs, bytes, with, tag);
  const Err sent = send(*this, mine, bytes, with, tag);
  const Err received = finish(incoming);
  return sent ? sent : received;
}

int construction_tag(Comm& comm) {
  return static_cast<int>(comm.constructions++ & INT_MAX);
}

namespace {

/// Do all of them have several communication contexts? A rank that has not come to MPI_Init tells
/// nobody when it does, so this looks now and then, and goes on with what else the rank has begun.
bool all_have_contexts(pt2pt::Engine& engine, const Members& members, bool now) {
  if (!engine.contexts->several()) return false;
  for (const std::int32_t member : members) {
    const memory::RankEntry& entry = engine.job->entry(member);
    // acquire: with the state comes how many contexts it has opened
    while (entry.state.load(std::memory_order_acquire) == memory::RankState::started) {
      if (engine.network != nullptr) engine.network->meet(member);
      if (now) return false;
      pt2pt::progress(engine);
      const sync::Away away(engine.lock);
      usleep(100);
    }
    if (entry.contexts.load(std::memory_order_relaxed) < 2) return false;
  }
  return true;
}

}  // namespace

std::uint64_t take_contexts_across(pt2pt::Engine& engine, std::uint32_t n) {
  // Of the 59 that a number has; it is above those that begin with a rank.
  constexpr int short_number_bits = 28, above_ranks = short_number_bits + memory::name_bits;
  const std::uint64_t taken = engine.contexts->numbers.fetch_add(n, std::memory_order_relaxed);
  const std::uint64_t short_number = taken & ((std::uint64_t{1} << short_number_bits) - 1);
  // Its uppermost bit is the one above.
  const auto name = static_cast<std::uint64_t>(memory::name_of(*engine.job, engine.world_rank));
  static_assert(above_ranks == 58);
  const std::uint64_t number = name << short_number_bits | short_number;
  return first_context + number * contexts_per_comm;
}

std::uint64_t take_contexts(pt2pt::Engine& engine, std::uint32_t n, const Members& members,
                            bool now) {
  if (engine.job->has_guest(members)) return take_contexts_across(engine, n);
  // relaxed: the number itself is all that is shared
  const std::uint64_t taken = engine.contexts->numbers.fetch_add(n, std::memory_order_relaxed);
  const std::uint64_t number = static_cast<std::uint64_t>(engine.world_rank) << number_bits | taken;
  const std::uint64_t context = first_context + number * contexts_per_comm;
  return all_have_contexts(engine, members, now) ? context | in_contexts : context;
}

void set_context(Comm& made, std::uint64_t context) {
  made.context = context;
  if ((context & in_contexts) == 0) return;
  const std::vector<pt2pt::Engine*>& engines = made.engine->contexts->engines;
  made.engine = engines[context / contexts_per_comm % engines.size()];
  made.by_tag = (context & by_tag) != 0;
  if (made.by_tag || made.engine->context != 0)
    made.engine->contexts->spread.store(true, std::memory_order_relaxed);
}

bool is_low_side(const Comm& comm) {
  if (comm.remote == nullptr) return true;
  const std::int32_t mine = comm.group->members[0], theirs = comm.remote->members[0];
  memory::Job& job = *comm.engine->job;
  return comm.spans_jobs() ? memory::name_of(job, mine) < memory::name_of(job, theirs)
                           : mine < theirs;
}

Members all_members(const Comm& comm) {
  if (!comm.is_inter()) return comm.group->members;
  const Group& first = is_low_side(comm) ? *comm.group : *comm.remote;
  const Group& second = is_low_side(comm) ? *comm.remote : *comm.group;
  Members members = first.members;
  members.insert(members.end(), second.members.begin(), second.members.end());
  return members;
}

namespace {
bool is_open(Rank& rank, std::uint32_t session) {
  const sync::Guard guard(rank.store.lock);
  return rank.store.open_sessions.contains(session);
}
}  // namespace

Result<Comm> groups_parent(Rank& rank, const Group& group, object::Errhandler& errhandler) {
  if (group.session != 0 && !is_open(rank, group.session))
    return fail(MPI_ERR_SESSION,
                "the group comes from a session that was finalized; take it from one that is open, "
                "by MPI_Group_from_session_pset");
  Comm parent;
  parent.kind = Kind::comm;
  parent.refs = 1;
  parent.session = group.session;
  parent.context = groups_context;
  parent.engine = &rank.engine;
  parent.owner = &rank;
  parent.store = &rank.store;
  parent.errhandler = &errhandler;
  return parent;
}

int tag_of(const char* stringtag) {
  const std::uint64_t hash = hash_of(std::string_view(stringtag));
  return static_cast<int>((hash ^ (hash >> 32)) & 0x7fffffff);
}

Comm* skeleton(const Comm& like) {
  const sync::Guard guard(like.store->lock);
  Comm* made = like.store->comms.create();
  made->threads = like.store->lock.enabled();
  made->engine = &like.owner->engine;  // until it has its number
  made->owner = like.owner;
  made->store = like.store;
  made->session = like.session;
  made->errhandler = like.errhandler;
  if (made->errhandler != nullptr) object::retain(*made->errhandler);
  return made;
}

void complete(Comm& made, Members members, Members remote, std::uint64_t context) {
  set_context(made, context);
  made.group = object::make_group(*made.store, std::move(members));
  if (!remote.empty()) made.remote = object::make_group(*made.store, std::move(remote));
  made.group->session = made.session;
  if (made.remote != nullptr) made.remote->session = made.session;
  made.rank = made.group->rank;
  coll::attach(made);
}

Result<Comm*> make(const Comm& like, View& view, int tag, Members members) {
  std::uint64_t context = 0;
  if (view.rank() == 0) context = take_contexts(view.engine(), 1, members);
  WEFT_TRY(view.bcast(&context, sizeof context, tag));
  WEFT_TRY(view.died());
  Comm* made = skeleton(like);
  complete(*made, std::move(members), {}, context);
  return made;
}

Result<Comm*> make_part(Comm& parent, Members members) {
  const int tag = construction_tag(parent);
  View view(parent, Among::all, members);
  if (view.rank() == MPI_UNDEFINED) return static_cast<Comm*>(nullptr);
  return make(parent, view, tag, std::move(members));
}

}  // namespace weft::world
