// SPDX-License-Identifier: Apache-2.0
//
// Group operations. Set operations look members up in an index (sorted once, O((n + m) log n)).
#include "object/group.h"

#include <algorithm>

#include "memory/guests.h"
#include "object/store.h"

namespace weft::object {
namespace {

/// World rank -> position in a group.
class Index {
 public:
  explicit Index(const Group& group) {
    sorted_.reserve(group.members.size());
    for (int i = 0; i < group.size(); ++i)
      sorted_.push_back({group.members[static_cast<std::size_t>(i)], i});
    std::sort(sorted_.begin(), sorted_.end());
  }
  int find(std::int32_t world_rank) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair{world_rank, 0});
    return at != sorted_.end() && at->first == world_rank ? at->second : MPI_UNDEFINED;
  }

 private:
  std::vector<std::pair<std::int32_t, int>> sorted_;
};

void give(Store& store, std::vector<std::int32_t> members, std::uint32_t session, MPI_Group* out) {
  *out = MPI_GROUP_EMPTY;
  if (members.empty()) return;
  Group* group = make_group(store, std::move(members));
  group->session = session;
  *out = handle_of(*group);
}

/// Groups that are put together are of one session, or of none.
std::uint32_t session_of(const Group& a, const Group& b) {
  return a.session != 0 ? a.session : b.session;
}

/// `chosen[i]` of each listed rank becomes true; every rank must be valid and listed once.
Err mark(const Group& group, std::span<const int> ranks, std::vector<bool>& chosen) {
  chosen.assign(group.members.size(), false);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    if (rank < 0 || rank >= group.size())
      return fail(MPI_ERR_RANK, "ranks[%zu] is %d; the group has ranks 0 to %d", i, rank,
                  group.size() - 1);
    if (chosen[static_cast<std::size_t>(rank)])
      return fail(MPI_ERR_RANK,
                  "rank %d is listed twice (the second time as number %zu); each rank "
                  "may be listed once",
                  rank, i);
    chosen[static_cast<std::size_t>(rank)] = true;
  }
  return ok;
}

/// The ranks that (first, last, stride) triplets stand for, in order.
Err expand(const Group& group, std::span<const Range> ranges, std::vector<int>& ranks) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [first, last, stride] = ranges[i];
    if (stride == 0)
      return fail(MPI_ERR_ARG, "ranges[%zu] is (%d, %d, 0); the stride must not be 0", i, first,
                  last);
    if ((stride > 0 && first > last) || (stride < 0 && first < last))
      return fail(MPI_ERR_ARG,
                  "ranges[%zu] is (%d, %d, %d), which never reaches its end; the stride "
                  "has the wrong sign",
                  i, first, last, stride);
    // Only the ranks that are hit must exist; `last` itself may lie beyond.
    const std::int64_t steps = (std::int64_t{last} - first) / stride;
    const std::int64_t end = first + steps * stride;
    if (first < 0 || first >= group.size() || end < 0 || end >= group.size())
      return fail(MPI_ERR_RANK, "ranges[%zu] is (%d, %d, %d); the group has ranks 0 to %d", i,
                  first, last, stride, group.size() - 1);
    for (std::int64_t k = 0; k <= steps; ++k) ranks.push_back(static_cast<int>(first + k * stride));
  }
  return ok;
}

}  // namespace

Group* make_group(Store& store, std::vector<std::int32_t> members) {
  const sync::Guard guard(store.lock);
  Group* group = store.groups.create();
  group->store = &store;
  group->members = std::move(members);
  group->rank = rank_in(*group, store.world_rank);
  group->has_guests = store.job != nullptr && store.job->has_guest(group->members);
  if (group->has_guests)
    for (const std::int32_t member : group->members) memory::add_user(*store.job, member);
  return group;
}

Group::~Group() {
  if (!has_guests) return;
  for (const std::int32_t member : members) memory::drop_user(*store->job, member);
}

int rank_in(const Group& group, std::int32_t world_rank) {
  const auto at = std::find(group.members.begin(), group.members.end(), world_rank);
  return at == group.members.end() ? MPI_UNDEFINED : static_cast<int>(at - group.members.begin());
}

void share_group(Store& store, const Group& group, MPI_Group* out) {
  give(store, group.members, group.session, out);
}

Err group_incl(Store& store, const Group& group, std::span<const int> ranks, MPI_Group* out) {
  std::vector<bool> chosen;
  WEFT_TRY(mark(group, ranks, chosen));
  std::vector<std::int32_t> members;
  members.reserve(ranks.size());
  for (const int rank : ranks) members.push_back(group.members[static_cast<std::size_t>(rank)]);
  give(store, std::move(members), group.session, out);
  return ok;
}

Err group_excl(Store& store, const Group& group, std::span<const int> ranks, MPI_Group* out) {
  std::vector<bool> chosen;
  WEFT_TRY(mark(group, ranks, chosen));
  std::vector<std::int32_t> members;
  for (std::size_t i = 0; i < group.members.size(); ++i)
    if (!chosen[i]) members.push_back(group.members[i]);
  give(store, std::move(members), group.session, out);
  return ok;
}

Err group_range_incl(Store& store, const Group& group, std::span<const Range> ranges,
                     MPI_Group* out) {
  std::vector<int> ranks;
  WEFT_TRY(expand(group, ranges, ranks));
  return group_incl(store, group, ranks, out);
}

Err group_range_excl(Store& store, const Group& group, std::span<const Range> ranges,
                     MPI_Group* out) {
  std::vector<int> ranks;
  WEFT_TRY(expand(group, ranges, ranks));
  return group_excl(store, group, ranks, out);
}

void group_union(Store& store, const Group& a, const Group& b, MPI_Group* out) {
  const Index in_a(a);
  std::vector<std::int32_t> members = a.members;
  for (const std::int32_t member : b.members)
    if (in_a.find(member) == MPI_UNDEFINED) members.push_back(member);
  give(store, std::move(members), session_of(a, b), out);
}

void group_intersection(Store& store, const Group& a, const Group& b, MPI_Group* out) {
  const Index in_b(b);
  std::vector<std::int32_t> members;
  for (const std::int32_t member : a.members)
    if (in_b.find(member) != MPI_UNDEFINED) members.push_back(member);
  give(store, std::move(members), session_of(a, b), out);
}

void group_difference(Store& store, const Group& a, const Group& b, MPI_Group* out) {
  const Index in_b(b);
  std::vector<std::int32_t> members;
  for (const std::int32_t member : a.members)
    if (in_b.find(member) == MPI_UNDEFINED) members.push_back(member);
  give(store, std::move(members), session_of(a, b), out);
}

Err translate_ranks(const Group& from, std::span<const int> ranks, const Group& to, int* out) {
  const Index in_to(to);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    if (rank == MPI_PROC_NULL) {
      out[i] = MPI_PROC_NULL;
      continue;
    }
    if (rank < 0 || rank >= from.size())
      return fail(MPI_ERR_RANK, "ranks1[%zu] is %d; the group has ranks 0 to %d", i, rank,
                  from.size() - 1);
    out[i] = in_to.find(from.members[static_cast<std::size_t>(rank)]);
  }
  return ok;
}

int compare_groups(const Group& a, const Group& b) {
  if (a.members == b.members) return MPI_IDENT;
  if (a.size() != b.size()) return MPI_UNEQUAL;
  const Index in_b(b);
  for (const std::int32_t member : a.members)
    if (in_b.find(member) == MPI_UNDEFINED) return MPI_UNEQUAL;
  return MPI_SIMILAR;
}

Err free_group(Store& store, MPI_Group* handle) {
  Group* group = store.group(*handle);
  // The empty group is a constant: giving it up has no effect.
  if (group != store.group_empty) store.groups.destroy(group);
  *handle = MPI_GROUP_NULL;
  return ok;
}

}  // namespace weft::object
