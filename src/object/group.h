// SPDX-License-Identifier: Apache-2.0
//
// Groups (MPI-5.0 §7.3): ordered sets of world ranks. All functions here are local; a group without
// members is always MPI_GROUP_EMPTY.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/err.h"
#include "object/objects.h"

namespace weft::object {

/// A new group, not yet a handle; `me` is the world rank of the owner.
Group* make_group(Store& store, std::vector<std::int32_t> members);
/// The position of a world rank in the group, MPI_UNDEFINED if it is not in it.
int rank_in(const Group& group, std::int32_t world_rank);
/// The group as a handle of the user's own (MPI_Comm_group).
void share_group(Store& store, const Group& group, MPI_Group* out);

using Range = int[3];  // first, last, stride

Err group_incl(Store& store, const Group& group, std::span<const int> ranks, MPI_Group* out);
Err group_excl(Store& store, const Group& group, std::span<const int> ranks, MPI_Group* out);
Err group_range_incl(Store& store, const Group& group, std::span<const Range> ranges,
                     MPI_Group* out);
Err group_range_excl(Store& store, const Group& group, std::span<const Range> ranges,
                     MPI_Group* out);
void group_union(Store& store, const Group& a, const Group& b, MPI_Group* out);
void group_intersection(Store& store, const Group& a, const Group& b, MPI_Group* out);
void group_difference(Store& store, const Group& a, const Group& b, MPI_Group* out);
Err translate_ranks(const Group& from, std::span<const int> ranks, const Group& to, int* out);
int compare_groups(const Group& a, const Group& b);
Err free_group(Store& store, MPI_Group* handle);

}  // namespace weft::object
