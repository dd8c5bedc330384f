// SPDX-License-Identifier: Apache-2.0
//
// Intercommunicators (§7.6): two groups whose leaders know a way to each other. The leaders trade
// their groups, the one with the smaller world rank adds a context, each tells its own group.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "object/comm.h"
#include "object/group.h"
#include "pt2pt/completion.h"
#include "world/across.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/connected.h"
#include "world/rank.h"

namespace weft::world {
namespace {

/// What a leader says about its side, and about the whole if it is the first.
struct Side {
  static constexpr std::int32_t spans_jobs = -1;
  std::int32_t size = 0;      // ranks
  std::uint64_t context = 0;  // of the first, once it has taken one
};

}  // namespace

Err overlap() {
  return fail(MPI_ERR_COMM,
              "the two groups of an intercommunicator must not have a process in common");
}

Err share_failure(View& view, int root, int tag, Err why) {
  struct {
    std::int32_t error = MPI_SUCCESS;
    char text[memory::message_bytes] = "";
  } said;
  if (view.rank() == root) {
    said.error = why.cls;
    std::snprintf(said.text, sizeof said.text, "%s", last_error_text(why.cls));
  }
  WEFT_TRY(view.bcast(&said, sizeof said, tag, root));
  return view.rank() == root ? why : fail(said.error, "%s", said.text);
}

Result<Remote> meet(const Comm& peer, const Group& local, std::int32_t remote_leader, int tag) {
  const std::int32_t me = peer.store->world_rank;
  memory::Job& job = *peer.engine->job;
  if (remote_leader == me) return overlap();
  const auto across = [&]() -> Result<Remote> {
    Remote remote;
    remote.talk = talk_by_messages(peer, remote_leader, tag);
    return remote;
  };
  if (job.is_guest(remote_leader)) return across();
  View pair(peer, Among::some, {std::min(me, remote_leader), std::max(me, remote_leader)});
  const int other = 1 - pair.rank();
  Side mine{local.has_guests ? Side::spans_jobs : local.size(), 0}, theirs;
  WEFT_TRY(pair.exchange(&mine, &theirs, sizeof mine, other, tag));
  if (mine.size == Side::spans_jobs || theirs.size == Side::spans_jobs) return across();
  // Both send as many ranks as the larger group has: the exchange is symmetrical.
  const auto n = static_cast<std::size_t>(std::max(mine.size, theirs.size));
  Members sent = local.members, got(n);
  sent.resize(n);
  WEFT_TRY(pair.exchange(sent.data(), got.data(), n * sizeof(std::int32_t), other, tag));
  got.resize(static_cast<std::size_t>(theirs.size));
  for (const std::int32_t member : got)
    if (object::rank_in(local, member) != MPI_UNDEFINED) return overlap();
  if (pair.rank() == 0) {
    Members all = local.members;
    all.insert(all.end(), got.begin(), got.end());
    mine.context = take_contexts(pair.engine(), 1, all);
  }
  WEFT_TRY(pair.exchange(&mine, &theirs, sizeof mine, other, tag));
  Remote remote;
  remote.members = std::move(got);
  remote.context = pair.rank() == 0 ? mine.context : theirs.context;
  return remote;
}

Err spread(View& view, int root, int tag, Result<Remote>& remote) {
  Side side;
  if (view.rank() == root && remote)
    side = {remote.value.talk != nullptr ? Side::spans_jobs
                                         : static_cast<std::int32_t>(remote.value.members.size()),
            remote.value.context};
  WEFT_TRY(view.bcast(&side, sizeof side, tag, root));
  if (side.size == Side::spans_jobs) {
    const std::unique_ptr<Talk> talk = std::move(remote.value.talk);
    remote = meet_across(view, root, tag, talk.get());
    if (talk != nullptr) talk->end(view.engine());
    return remote.err;
  }
  if (side.size == 0) return share_failure(view, root, tag, remote.err);
  remote.value.context = side.context;
  remote.value.members.resize(static_cast<std::size_t>(side.size));
  return view.bcast(remote.value.members.data(), remote.value.members.size() * sizeof(std::int32_t),
                    tag, root);
}

Comm* make_inter(const Comm& like, const Group& local, Remote remote) {
  Comm* made = skeleton(like);
  complete(*made, local.members, std::move(remote.members), remote.context);
  return made;
}

Err intercomm_create(Comm& local, int local_leader, Comm* peer, int remote_leader, int tag,
                     MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  const int construction = construction_tag(local);
  Result<Remote> remote = Remote{};
  if (local.rank == local_leader) {
    const int ranks = peer != nullptr ? static_cast<int>(peer->peers().size()) : 0;
    if (peer == nullptr) {
      remote = fail(MPI_ERR_COMM,
                    "peer_comm is no communicator; at the local leader it must be one, with the "
                    "remote leader in it");
    } else if (remote_leader < 0 || remote_leader >= ranks) {
      remote = fail(MPI_ERR_RANK, "remote_leader is %d; the peer communicator has %d ranks",
                    remote_leader, ranks);
    } else {
      const std::int32_t leader = peer->peers()[static_cast<std::size_t>(remote_leader)];
      const sync::Away away(local.engine->lock);  // one context's lock at a time
      const pt2pt::Inside inside(*peer->engine);
      remote = meet(*peer, *local.group, leader, tag);
    }
  }
  View view(local, Among::all, local.group->members);
  WEFT_TRY(spread(view, local_leader, construction, remote));
  meet_members(local, remote.value.members);
  *out = object::handle_of(*make_inter(local, *local.group, std::move(remote.value)));
  return ok;
}

Err intercomm_create_from_groups(Rank& rank, const FromGroups& args, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  Result<Comm> found = groups_parent(rank, args.local, args.errhandler);
  if (!found) return found.err;
  Comm& parent = found.value;
  const int tag = tag_of(args.stringtag);
  View view(parent, Among::all, args.local.members);
  if (view.rank() == MPI_UNDEFINED)
    return fail(MPI_ERR_GROUP, "the calling process is not in local_group");
  if (args.local_leader < 0 || args.local_leader >= args.local.size())
    return fail(MPI_ERR_RANK, "local_leader is %d; local_group has %d ranks", args.local_leader,
                args.local.size());
  Result<Remote> remote = Remote{};
  if (view.rank() == args.local_leader) {
    const int ranks = args.remote != nullptr ? args.remote->size() : 0;
    if (args.remote_leader < 0 || args.remote_leader >= ranks) {
      remote = fail(MPI_ERR_RANK, "remote_leader is %d; remote_group has %d ranks",
                    args.remote_leader, ranks);
    } else {
      remote = meet(parent, args.local,
                    args.remote->members[static_cast<std::size_t>(args.remote_leader)], tag);
    }
  }
  WEFT_TRY(spread(view, args.local_leader, tag, remote));
  Comm* made = make_inter(parent, args.local, std::move(remote.value));
  WEFT_TRY(adopt_hints(*made, args.info));
  *out = object::handle_of(*made);
  return ok;
}

Err create_intercomm_part(Comm& comm, const Group& group, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  const int tag = construction_tag(comm);
  View view(comm, Among::all, all_members(comm));
  const auto n = static_cast<std::size_t>(view.size());
  // Everybody's place in the group given on its side, or -1; then the context, as two.
  std::vector<std::int32_t> table(n + 2);
  const std::int32_t mine = group.rank == MPI_UNDEFINED ? -1 : group.rank;
  WEFT_TRY(view.gather(&mine, sizeof mine, table.data(), tag));
  std::uint64_t context = 0;
  if (view.rank() == 0) {
    context = take_contexts(view.engine(), 1, all_members(comm));
    std::memcpy(&table[n], &context, sizeof context);
  }
  WEFT_TRY(view.bcast(table.data(), table.size() * sizeof(std::int32_t), tag));
  std::memcpy(&context, &table[n], sizeof context);
  const auto side = [&](const Group& from, std::size_t offset) {
    std::vector<std::pair<std::int32_t, std::int32_t>> places;
    for (std::size_t i = 0; i < from.members.size(); ++i)
      if (table[offset + i] >= 0) places.push_back({table[offset + i], from.members[i]});
    std::sort(places.begin(), places.end());
    Members members;
    for (const auto& [place, member] : places) members.push_back(member);
    return members;
  };
  const bool low = is_low_side(comm);
  Members local = side(*comm.group, low ? 0 : comm.remote->members.size());
  Members remote = side(*comm.remote, low ? comm.group->members.size() : 0);
  if (mine < 0 || remote.empty()) return ok;
  Comm* made = skeleton(comm);
  complete(*made, std::move(local), std::move(remote), context);
  *out = object::handle_of(*made);
  return ok;
}

Err intercomm_merge(Comm& comm, int high, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  if (!comm.is_inter())
    return fail(MPI_ERR_COMM,
                "the communicator is an intracommunicator; only intercommunicators merge");
  const int tag = construction_tag(comm);
  const Members members = all_members(comm);
  View view(comm, Among::all, members);
  struct Order {
    std::uint64_t context = 0;
    std::int32_t second_first = 0;  // the side that is second in `members` comes first
    std::int32_t error = MPI_SUCCESS;
  } order;
  const std::int32_t mine = high != 0;
  std::vector<std::int32_t> flags(members.size());
  WEFT_TRY(view.gather(&mine, sizeof mine, flags.data(), tag));
  if (view.rank() == 0) {
    const std::size_t first = comm.group->members.size();  // rank 0 is on the low side
    for (std::size_t i = 0; i < flags.size(); ++i)
      if (flags[i] != flags[i < first ? 0 : first]) order.error = MPI_ERR_ARG;
    order.context = take_contexts(view.engine(), 1, members);
    order.second_first = flags[0] && !flags[first];
  }
  WEFT_TRY(view.bcast(&order, sizeof order, tag));
  if (order.error != MPI_SUCCESS)
    return fail(order.error, "the processes of one group passed different values of high");
  Members merged = members;
  if (order.second_first) {
    const std::size_t low = (is_low_side(comm) ? comm.group : comm.remote)->members.size();
    std::rotate(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(low), merged.end());
  }
  Comm* made = skeleton(comm);
  complete(*made, std::move(merged), {}, order.context);
  *out = object::handle_of(*made);
  return ok;
}

}  // namespace weft::world
