// SPDX-License-Identifier: Apache-2.0
//
// MPI_Comm_split_type and MPI_Get_hw_resource_info (§7.4.2, §11.2.3): parts of the node, as the
// job's hierarchy has them. A resource type is a level by hwloc's name, "hwloc://NUMANode". Ranks
// are where the launcher put them; a program that rebinds itself later is not followed.
#include <algorithm>
#include <string>

#include "object/info.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/rank.h"

namespace weft::world {
namespace {

using topo::Hierarchy;

constexpr std::string_view scheme = "hwloc://";

std::string resource_name(const Hierarchy& hierarchy, int level) {
  return std::string(scheme) + std::string(hierarchy.name(level));
}

/// The level of a resource type, with or without "hwloc://"; -1 if the machine has none of it.
int level_of(const Hierarchy& hierarchy, std::string_view resource) {
  if (resource.starts_with(scheme)) resource.remove_prefix(scheme.size());
  return hierarchy.level_named(resource);
}

/// Parts are counted on each node. A rank that is in no single part of a level is in no
/// communicator.
int color_of(memory::Job& job, int level, int world_rank) {
  constexpr int most_parts = 1 << 14;
  const int group = level >= 0 ? job.hierarchy().group_of(level, world_rank) : -1;
  return group >= 0 ? job.node_of(world_rank) * most_parts + group : MPI_UNDEFINED;
}

/// All ranks see the same answer, so that either all go on or none.
Err check_types(std::span<const std::int32_t> types) {
  int type = MPI_UNDEFINED;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == MPI_UNDEFINED || types[i] == type) continue;
    if (type != MPI_UNDEFINED)
      return fail(MPI_ERR_ARG,
                  "split_type is %d at rank %zu and %d at others; all must pass the same, or "
                  "MPI_UNDEFINED",
                  types[i], i, type);
    type = types[i];
    if (type < MPI_COMM_TYPE_SHARED || type > MPI_COMM_TYPE_RESOURCE_GUIDED)
      return fail(MPI_ERR_ARG,
                  "split_type is %d at rank %zu; it must be one of MPI_COMM_TYPE_SHARED, "
                  "_HW_GUIDED, _HW_UNGUIDED, _RESOURCE_GUIDED or MPI_UNDEFINED",
                  type, i);
  }
  return ok;
}

int guided_color(memory::Job& job, const Info* info, int world_rank) {
  const std::string* resource = object::info_find(info, "mpi_hw_resource_type");
  if (resource == nullptr) return MPI_UNDEFINED;
  if (*resource == "mpi_shared_memory") return job.node_of(world_rank);
  return color_of(job, level_of(job.hierarchy(), *resource), world_rank);
}

int resource_color(memory::Job& job, const Info* info, int world_rank) {
  const std::string* set = object::info_find(info, "mpi_pset_name");
  if (set == nullptr) return guided_color(job, info, world_rank);
  if (*set == "mpi://WORLD") return 0;
  return *set == "mpi://SELF" ? world_rank : MPI_UNDEFINED;
}

/// Jobs share nothing, and number their nodes alike.
int color_across(memory::Job& job, int color) {
  const auto bytes = std::as_bytes(std::span(&color, 1));
  return static_cast<int>(keyed_hash(job.header().identity, bytes) & 0x7fffffff);
}

/// The outermost level whose parts divide the ranks that take part; -1 if none does.
int dividing_level(const Hierarchy& hierarchy, std::span<const std::int32_t> world_ranks) {
  for (int level = 0; level < hierarchy.levels(); ++level)
    for (const std::int32_t r : world_ranks)
      if (hierarchy.group_of(level, r) != hierarchy.group_of(level, world_ranks[0])) return level;
  return -1;
}

}  // namespace

Err comm_split_type(Comm& comm, int split_type, int key, Info* info, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  const int tag = construction_tag(comm);
  const Members members = all_members(comm);
  View view(comm, Among::all, members);
  const std::int32_t mine = split_type;
  std::vector<std::int32_t> types(members.size());
  WEFT_TRY(view.gather(&mine, sizeof mine, types.data(), tag));
  WEFT_TRY(view.bcast(types.data(), types.size() * sizeof mine, tag));
  WEFT_TRY(check_types(types));
  memory::Job& job = *comm.owner->process->job;
  const int world_rank = comm.owner->world_rank;
  int color = MPI_UNDEFINED;
  std::string found;  // by what ranks were divided
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      color = job.node_of(world_rank);
      break;
    case MPI_COMM_TYPE_HW_GUIDED:
      color = guided_color(job, info, world_rank);
      break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      color = resource_color(job, info, world_rank);
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED: {
      Members taking_part;
      for (std::size_t i = 0; i < members.size(); ++i)
        if (types[i] != MPI_UNDEFINED) taking_part.push_back(members[i]);
      if (!job.are_together(world_rank, taking_part)) {
        color = job.node_of(world_rank);
        found = "mpi_shared_memory";
        break;
      }
      const int level = dividing_level(job.hierarchy(), taking_part);
      if (level >= 0) found = resource_name(job.hierarchy(), level);
      color = color_of(job, level, world_rank);
      break;
    }
  }
  if (color != MPI_UNDEFINED && comm.spans_jobs()) color = color_across(job, color);
  WEFT_TRY(comm_split(comm, color, key, out));
  const sync::Guard guard(comm.store->lock);
  if (!found.empty() && info != nullptr && *out != MPI_COMM_NULL)
    WEFT_TRY(object::info_set(*info, "mpi_hw_resource_type", found.c_str()));
  return ok;
}

Err hw_resource_info(Rank& rank, MPI_Info* out) {
  const Hierarchy hierarchy = rank.process->job->hierarchy();
  object::create_info(rank.store, out);
  Info& info = *rank.store.info(*out);
  for (int level = 0; level < hierarchy.levels(); ++level) {
    const bool is_inside = hierarchy.group_of(level, rank.world_rank) >= 0;
    WEFT_TRY(object::info_set(info, resource_name(hierarchy, level).c_str(),
                              is_inside ? "true" : "false"));
  }
  return ok;
}

}  // namespace weft::world
