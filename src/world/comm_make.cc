// SPDX-License-Identifier: Apache-2.0
//
// Communicators made from a communicator or a group as it is: dup, idup, create, create_group. All
// cost one broadcast of a number among the new communicator's members (§7.4.2).
#include <algorithm>
#include <cstring>
#include <span>

#include "coll/coll.h"
#include "object/attribute.h"
#include "object/comm.h"
#include "object/group.h"
#include "object/info.h"
#include "object/topology.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/rank.h"

namespace weft::world {
namespace {

void give(Comm* made, MPI_Comm* out) {
  *out = made != nullptr ? object::handle_of(*made) : MPI_COMM_NULL;
}

/// The callbacks may call anything.
Err copy_attributes(Comm& from, Comm& to) {
  const sync::Away away(from.engine->lock);
  return object::copy_attributes(*from.store, object::holder(from), object::holder(to));
}

/// What a duplicate has beside its groups: topology, attributes, hints. Local; callbacks may
/// refuse.
Result<Comm*> copy_state(Comm& comm, const Info* info) {
  Comm* made = skeleton(comm);
  made->group = comm.group;
  add_owner(*made->group, true);
  made->remote = comm.remote;
  if (made->remote != nullptr) add_owner(*made->remote, true);
  made->rank = comm.rank;
  made->topology = object::dup_topology(comm.topology);
  Err err = copy_attributes(comm, *made);
  if (!err) err = object::set_hints(*made, info);
  if (!err) return made;
  object::release(*made);
  return err;
}

/// The broadcast of MPI_Comm_idup, advanced by progress.
struct Idup {
  View view;
  int tag;
  TreePlace place;
  Comm* made;
  object::Request* request;
  std::uint64_t context = 0;
  pt2pt::Request* incoming = nullptr;
  std::vector<pt2pt::Request*> outgoing;
  bool sending = false;

  Idup(Comm& comm, Comm* m)
      : view(comm, Among::all, all_members(comm)),
        tag(construction_tag(comm)),
        place(tree_place(view.rank(), view.size())),
        made(m) {}
};

void destroy(object::Request& request) {
  object::Comm& made = *request.comm;
  if (request.orphan) object::end_orphan(made);
  made.store->destroy(&request);
  object::release(made);
}

Err release_idup(object::Request& request) {
  if (request.done) {
    destroy(request);
  } else {
    object::orphan(request);
  }
  return ok;
}

std::span<object::Request* const> parts_of_idup(const object::Request& request) {
  const Idup& idup = *static_cast<const Idup*>(request.state);
  if (idup.sending) return idup.outgoing;
  return {&idup.incoming, idup.incoming != nullptr ? 1U : 0U};
}

constexpr object::RequestOps idup_ops{"MPI_Comm_idup", nullptr, nullptr,
                                      release_idup,    nullptr, parts_of_idup};

void finish(Idup& idup) {
  object::Request& request = *idup.request;
  pt2pt::Engine& engine = idup.view.engine();
  set_context(*idup.made, idup.context);
  coll::attach(*idup.made);
  request.done = true;
  pt2pt::tell_waiters(engine, request.waiting);
  if (request.orphan) destroy(request);
}

/// Poller: true when there is nothing left to do.
bool advance(void* state) {
  auto& idup = *static_cast<Idup*>(state);
  if (!idup.sending) {
    if (idup.incoming != nullptr) {
      if (!idup.incoming->done) return false;
      pt2pt::free_request(idup.incoming);
    }
    for (const int child : idup.place.children)
      idup.outgoing.push_back(
          idup.view.post_send(&idup.context, sizeof idup.context, child, idup.tag));
    idup.sending = true;
  }
  for (; !idup.outgoing.empty(); idup.outgoing.pop_back()) {
    if (!idup.outgoing.back()->done) return false;
    pt2pt::free_request(idup.outgoing.back());
  }
  finish(idup);
  delete &idup;
  return true;
}

}  // namespace

namespace {

/// Agree on the number of the duplicate. `spread`: its messages may go to contexts by tag.
Err number_duplicate(Comm& made, View& view, int tag, bool spread) {
  std::uint64_t context = 0;
  if (view.rank() == 0) {
    context = take_contexts(view.engine(), 1, all_members(made));
    if (spread && (context & in_contexts) != 0) context |= by_tag;
  }
  WEFT_TRY(view.bcast(&context, sizeof context, tag));
  set_context(made, context);
  return ok;
}

Err duplicate(Comm& made, View& view, int tag, bool spread, MPI_Comm* out) {
  const Err err = number_duplicate(made, view, tag, spread);
  if (err) {
    object::release(made);
    return err;
  }
  coll::attach(made);
  give(&made, out);
  return ok;
}

/// Do all members promise that they never receive from any tag (§7.4.4)? Rank 0 gets to know. A
/// program may let only some of its processes say it.
bool all_name_tags(View& view, int tag, const Info* info) {
  const std::string* said = object::info_find(info, "mpi_assert_no_any_tag");
  const char mine = said != nullptr && *said == "true";
  std::vector<char> all(static_cast<std::size_t>(view.size()));
  if (view.gather(&mine, sizeof mine, all.data(), tag)) return false;
  return std::count(all.begin(), all.end(), 1) == view.size();
}

}  // namespace

Err comm_dup_with_info(Comm& comm, const Info* info, MPI_Comm* out) {
  const int tag = construction_tag(comm);
  const Result<Comm*> copied = copy_state(comm, info);
  if (!copied) return copied.err;
  View view(comm, Among::all, all_members(comm));
  // The same at all ranks.
  const bool contexts = view.engine().job->header().contexts > 1 && !comm.spans_jobs();
  const bool spread = contexts && all_name_tags(view, tag, info);
  return duplicate(*copied.value, view, tag, spread, out);
}

Err comm_dup(Comm& comm, MPI_Comm* out) {
  const int tag = construction_tag(comm);
  const Result<Comm*> copied = copy_state(comm, nullptr);
  if (!copied) return copied.err;
  View view(comm, Among::all, all_members(comm));
  return duplicate(*copied.value, view, tag, false, out);
}

Err comm_idup(Comm& comm, const Info* info, MPI_Comm* out, MPI_Request* out_request) {
  const Result<Comm*> copied = copy_state(comm, info);
  if (!copied) return copied.err;
  Comm& made = *copied.value;
  auto* idup = new Idup(comm, &made);
  object::Request* request = comm.store->create_request();
  request->ops = &idup_ops;
  request->engine = comm.engine;
  request->comm = &made;
  object::retain(made);
  request->state = idup;
  idup->request = request;
  if (idup->place.parent >= 0) {
    idup->incoming =
        idup->view.post_recv(&idup->context, sizeof idup->context, idup->place.parent, idup->tag);
  } else {
    idup->context = take_contexts(*comm.engine, 1, all_members(comm), true);
  }
  *out_request = reinterpret_cast<MPI_Request>(request);
  give(&made, out);
  if (!advance(idup)) pt2pt::add_poller(*comm.engine, {advance, idup});
  return ok;
}

Err comm_create(Comm& comm, const Group& group, MPI_Comm* out) {
  for (const std::int32_t member : group.members)
    if (object::rank_in(*comm.group, member) == MPI_UNDEFINED)
      return fail(MPI_ERR_GROUP,
                  "the group has a member (rank %d of MPI_COMM_WORLD) that is not in the "
                  "communicator's group",
                  member);
  if (!comm.is_inter()) {
    const Result<Comm*> made = make_part(comm, group.members);
    if (!made) return made.err;
    give(made.value, out);
    return ok;
  }
  return create_intercomm_part(comm, group, out);
}

Err comm_create_group(Comm& comm, const Group& group, int tag, MPI_Comm* out) {
  View view(comm, Among::some, group.members);
  if (view.rank() == MPI_UNDEFINED) {
    *out = MPI_COMM_NULL;
    return ok;
  }
  const Result<Comm*> made = make(comm, view, tag, group.members);
  if (!made) return made.err;
  give(made.value, out);
  return ok;
}

Err adopt_hints(Comm& comm, const Info* info) {
  WEFT_TRY(object::set_hints(comm, info));
  coll::take_hints(comm);
  return ok;
}

Err comm_create_from_group(Rank& rank, const Group& group, const char* stringtag, const Info* info,
                           Errhandler& errhandler, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  Result<Comm> parent = groups_parent(rank, group, errhandler);
  if (!parent) return parent.err;
  WEFT_TRY(comm_create_group(parent.value, group, tag_of(stringtag), out));
  Comm* made = rank.store.comm(*out);
  return made != nullptr ? adopt_hints(*made, info) : ok;
}

}  // namespace weft::world
