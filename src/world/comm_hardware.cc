// SPDX-License-Identifier: Apache-2.0
//
// MPI_Comm_split_type and MPI_Get_hw_resource_info (§7.4.2, §11.2.3): which parts of the node a
// rank is confined to, by the CPUs it may use. Read from sysfs and not from hwloc: a rank starts
// without paying for a topology, and these few files say enough.
#include <dirent.h>
#include <sched.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "object/info.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/rank.h"

namespace weft::world {
namespace {

constexpr const char* cpus = "/sys/devices/system/cpu/cpu";

/// The first number in a file, such as the first CPU of a list; -1 if there is none.
int first_number(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return -1;
  int number = -1;
  if (std::fscanf(file, "%d", &number) != 1) number = -1;
  std::fclose(file);
  return number;
}

int machine_of(int) {
  return 0;
}
int package_of(int cpu) {
  return first_number(cpus + std::to_string(cpu) + "/topology/package_cpus_list");
}
int core_of(int cpu) {
  return first_number(cpus + std::to_string(cpu) + "/topology/core_cpus_list");
}
int pu_of(int cpu) {
  return cpu;
}

int numa_node_of(int cpu) {
  DIR* directory = opendir((cpus + std::to_string(cpu)).c_str());
  if (directory == nullptr) return -1;
  int node = -1;
  while (const dirent* entry = readdir(directory))
    if (std::sscanf(entry->d_name, "node%d", &node) == 1) break;
  closedir(directory);
  return node;
}

/// The first CPU that shares this one's data cache of a level.
int cache_of(int cpu, int level) {
  for (int i = 0; i < 8; ++i) {
    const std::string index = cpus + std::to_string(cpu) + "/cache/index" + std::to_string(i);
    const int found = first_number(index + "/level");
    if (found < 0) return -1;
    if (found == level && level > 1) return first_number(index + "/shared_cpu_list");
  }
  return -1;
}
int l3_of(int cpu) {
  return cache_of(cpu, 3);
}
int l2_of(int cpu) {
  return cache_of(cpu, 2);
}

/// The parts of a node, from the whole to the smallest.
struct Level {
  const char* name;
  int (*of)(int cpu);  // a number for the one that `cpu` is in, -1 if unknown
};
constexpr Level levels[] = {
    {"hwloc://Machine", machine_of},
    {"hwloc://Package", package_of},
    {"hwloc://NUMANode", numa_node_of},
    {"hwloc://L3Cache", l3_of},
    {"hwloc://L2Cache", l2_of},
    {"hwloc://Core", core_of},
    {"hwloc://PU", pu_of},
};
constexpr std::size_t n_levels = std::size(levels);
using Place = std::array<std::int32_t, n_levels>;

/// For each level the only part that the calling thread may run in, -1 if there are several.
Place place_of_this_thread() {
  Place place;
  place.fill(-1);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return place;
  for (std::size_t l = 0; l < n_levels; ++l) {
    bool first = true;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &set)) continue;
      const int part = levels[l].of(cpu);
      if (!first && part != place[l]) {
        place[l] = -1;
        break;
      }
      place[l] = part;
      first = false;
    }
  }
  return place;
}

/// The level of a resource's name, with or without "hwloc://"; n_levels if there is none.
std::size_t level_named(const std::string& name) {
  constexpr std::size_t prefix = sizeof "hwloc://" - 1;
  for (std::size_t l = 0; l < n_levels; ++l)
    if (name == levels[l].name || name == levels[l].name + prefix) return l;
  return n_levels;
}

struct Record {
  std::int32_t type;
  Place place;
};

/// All ranks see the same answer, so that either all go on or none.
Err check_types(const std::vector<Record>& all) {
  int type = MPI_UNDEFINED;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].type == MPI_UNDEFINED || all[i].type == type) continue;
    if (type != MPI_UNDEFINED)
      return fail(MPI_ERR_ARG,
                  "split_type is %d at rank %zu and %d at others; all must pass the same, or "
                  "MPI_UNDEFINED",
                  all[i].type, i, type);
    type = all[i].type;
    if (type < MPI_COMM_TYPE_SHARED || type > MPI_COMM_TYPE_RESOURCE_GUIDED)
      return fail(MPI_ERR_ARG,
                  "split_type is %d at rank %zu; it must be one of MPI_COMM_TYPE_SHARED, "
                  "_HW_GUIDED, _HW_UNGUIDED, _RESOURCE_GUIDED or MPI_UNDEFINED",
                  type, i);
  }
  return ok;
}

int guided_color(const Info* info, const Place& place) {
  const std::string* resource = object::info_find(info, "mpi_hw_resource_type");
  if (resource == nullptr) return MPI_UNDEFINED;
  if (*resource == "mpi_shared_memory") return 0;
  const std::size_t level = level_named(*resource);
  return level < n_levels && place[level] >= 0 ? place[level] : MPI_UNDEFINED;
}

int resource_color(const Comm& comm, const Info* info, const Place& place) {
  const std::string* set = object::info_find(info, "mpi_pset_name");
  if (set == nullptr) return guided_color(info, place);
  if (*set == "mpi://WORLD") return 0;
  return *set == "mpi://SELF" ? comm.store->world_rank : MPI_UNDEFINED;
}

/// The first level whose parts divide the ranks that take part; `*level` is n_levels if none does.
int unguided_color(const std::vector<Record>& all, const Place& mine, std::size_t* level) {
  for (std::size_t l = 0; l < n_levels; ++l) {
    const auto elsewhere = [&](const Record& r) {
      return r.type != MPI_UNDEFINED && r.place[l] != mine[l];
    };
    if (!std::any_of(all.begin(), all.end(), elsewhere)) continue;
    *level = l;
    return mine[l] >= 0 ? mine[l] : MPI_UNDEFINED;
  }
  *level = n_levels;
  return MPI_UNDEFINED;
}

}  // namespace

Err comm_split_type(Comm& comm, int split_type, int key, Info* info, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  const int tag = construction_tag(comm);
  View view(comm, Among::all, all_members(comm));
  const Record mine{split_type, place_of_this_thread()};
  std::vector<Record> all(static_cast<std::size_t>(view.size()));
  WEFT_TRY(view.gather(&mine, sizeof mine, all.data(), tag));
  WEFT_TRY(view.bcast(all.data(), all.size() * sizeof(Record), tag));
  WEFT_TRY(check_types(all));
  int color = MPI_UNDEFINED;
  std::size_t level = n_levels;
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      color = 0;
      break;
    case MPI_COMM_TYPE_HW_GUIDED:
      color = guided_color(info, mine.place);
      break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      color = resource_color(comm, info, mine.place);
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      color = unguided_color(all, mine.place, &level);
      break;
  }
  WEFT_TRY(comm_split(comm, color, key, out));
  if (level < n_levels && info != nullptr && *out != MPI_COMM_NULL)
    WEFT_TRY(object::info_set(*info, "mpi_hw_resource_type", levels[level].name));
  return ok;
}

Err hw_resource_info(Rank& rank, MPI_Info* out) {
  const Place place = place_of_this_thread();
  object::create_info(rank.store, out);
  Info& info = *rank.store.info(*out);
  for (std::size_t l = 0; l < n_levels; ++l)
    WEFT_TRY(object::info_set(info, levels[l].name, place[l] >= 0 ? "true" : "false"));
  return ok;
}

}  // namespace weft::world
