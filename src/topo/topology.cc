// SPDX-License-Identifier: Apache-2.0
//
// Reading hwloc. Only the levels that matter to ranks are asked for, and neither plugins nor
// the x86 back end are loaded: on a small machine that is 0.7 ms instead of 11, and mpiexec pays it
// at every start.
#include "topo/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "base/cpus.h"

namespace weft::topo {
namespace {

struct Destroy {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};
using Tree = std::unique_ptr<hwloc_topology, Destroy>;

// hwloc looks for plugins (OpenCL, CUDA, X11, ...) unless it is told of a place that has none.
class NoPlugins {
 public:
  NoPlugins() : given_(std::getenv(name) != nullptr) {
    if (!given_) setenv(name, "/proc/self/fdinfo/none", 0);
  }
  ~NoPlugins() {
    if (!given_) unsetenv(name);
  }

 private:
  static constexpr const char* name = "HWLOC_PLUGINS_PATH";
  bool given_;
};

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Does the environment declare another machine in this one's place?
bool is_declared() {
  const char* same = std::getenv("HWLOC_THISSYSTEM");  // 1: the file is this machine's
  return (is_set("HWLOC_SYNTHETIC") || is_set("HWLOC_XMLFILE")) &&
         (same == nullptr || *same != '1');
}

Tree open_tree(const char* synthetic) {
  NoPlugins quiet;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Tree tree(raw);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  constexpr hwloc_obj_type_t kept[] = {HWLOC_OBJ_CORE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                       HWLOC_OBJ_PACKAGE};
  for (hwloc_obj_type_t type : kept)
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  // Memory domains smaller than a package hang below groups.
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
  if (synthetic != nullptr) {
    if (hwloc_topology_set_synthetic(raw, synthetic) != 0) return nullptr;
  } else if (!is_declared()) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    flags |= HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING;
  }
  if (hwloc_topology_set_flags(raw, flags) != 0 || hwloc_topology_load(raw) != 0) return nullptr;
  return tree;
}

int index_of(hwloc_topology_t tree, hwloc_obj_t core, hwloc_obj_type_t type, int otherwise) {
  hwloc_obj_t domain = hwloc_get_ancestor_obj_by_type(tree, type, core);
  return domain != nullptr ? static_cast<int>(domain->logical_index) : otherwise;
}

Core read_core(hwloc_topology_t tree, hwloc_obj_t object) {
  Core core;
  for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
       cpu = hwloc_bitmap_next(object->cpuset, cpu))
    core.cpus.push_back(cpu);
  const int node = object->nodeset != nullptr ? hwloc_bitmap_first(object->nodeset) : -1;
  hwloc_obj_t numa =
      node < 0 ? nullptr : hwloc_get_numanode_obj_by_os_index(tree, static_cast<unsigned>(node));
  core.numa = numa != nullptr ? static_cast<int>(numa->logical_index) : 0;
  core.llc = index_of(tree, object, HWLOC_OBJ_L3CACHE, core.numa);
  core.package = index_of(tree, object, HWLOC_OBJ_PACKAGE, 0);
  return core;
}

std::vector<int> read_distances(hwloc_topology_t tree) {
  unsigned found = 1;
  hwloc_distances_s* matrix = nullptr;
  std::vector<int> out;
  if (hwloc_distances_get_by_type(tree, HWLOC_OBJ_NUMANODE, &found, &matrix,
                                  HWLOC_DISTANCES_KIND_FROM_OS, 0) != 0 ||
      found == 0)
    return out;
  for (unsigned i = 0; i < matrix->nbobjs * matrix->nbobjs; ++i)
    out.push_back(static_cast<int>(matrix->values[i]));
  hwloc_distances_release(tree, matrix);
  return out;
}

Level read_level(hwloc_topology_t tree, int depth) {
  Level level;
  level.name = hwloc_obj_type_string(hwloc_get_depth_type(tree, depth));
  for (hwloc_obj_t at = nullptr; (at = hwloc_get_next_obj_by_depth(tree, depth, at)) != nullptr;) {
    bool holds_cpus = false;
    for (int cpu = hwloc_bitmap_first(at->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(at->cpuset, cpu)) {
      const auto i = static_cast<std::size_t>(cpu);
      if (i >= level.part_of.size()) level.part_of.resize(i + 1, -1);
      if (level.part_of[i] >= 0) continue;  // a second memory of the same CPUs
      level.part_of[i] = level.parts;
      holds_cpus = true;
    }
    if (holds_cpus) ++level.parts;
  }
  return level;
}

std::vector<Level> read_levels(hwloc_topology_t tree) {
  std::vector<Level> levels;
  Level memory = read_level(tree, HWLOC_TYPE_DEPTH_NUMANODE);
  const int depths = hwloc_topology_get_depth(tree);
  for (int depth = 0; depth < depths; ++depth) {
    const hwloc_obj_type_t type = hwloc_get_depth_type(tree, depth);
    Level level = read_level(tree, depth);
    // hwloc has memory beside the tree: it goes inside packages, around caches of the same number.
    const bool may_be_inside =
        hwloc_obj_type_is_cache(type) || type == HWLOC_OBJ_CORE || type == HWLOC_OBJ_PU;
    if (memory.parts > 0 &&
        (level.parts > memory.parts || (may_be_inside && level.parts == memory.parts)))
      levels.push_back(std::exchange(memory, {}));
    levels.push_back(std::move(level));
  }
  return levels;
}

std::vector<Cache> read_caches(hwloc_topology_t tree) {
  std::vector<Cache> out;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE}) {
    const hwloc_obj_t first = hwloc_get_next_obj_by_type(tree, type, nullptr);
    if (first == nullptr || first->attr->cache.size == 0) continue;
    const int cpus = hwloc_bitmap_weight(first->cpuset);
    const int level = static_cast<int>(first->attr->cache.depth);
    if (cpus > 0) out.push_back({static_cast<std::int64_t>(first->attr->cache.size), cpus, level});
  }
  return out;
}

template <class Of>
int count_distinct(std::span<const Core> cores, Of of) {
  std::set<int> seen;
  for (const Core& core : cores) seen.insert(of(core));
  return static_cast<int>(seen.size());
}

}  // namespace

Result<Topology> Topology::load(const char* synthetic_or_null) {
  if (allowed_cpus().empty())  // hwloc would ask for ever
    return fail(MPI_ERR_OTHER,
                "the kernel does not tell which CPUs are there (sched_getaffinity: %s)",
                std::strerror(errno));
  Tree tree = open_tree(synthetic_or_null);
  if (!tree && synthetic_or_null != nullptr)
    return fail(MPI_ERR_ARG,
                "hwloc does not understand the machine \"%s\"; expected a form "
                "like \"package:2 l3:2 core:4 pu:1\"",
                synthetic_or_null);
  if (!tree && !is_declared())
    return fail(MPI_ERR_OTHER,
                "hwloc cannot read this machine's topology; --bind none "
                "starts ranks without it");
  Topology topology;
  topology.is_here_ = tree && hwloc_topology_is_thissystem(tree.get()) != 0;
  if (synthetic_or_null == nullptr && is_declared() && (!tree || topology.is_here_))
    return fail(
        MPI_ERR_ARG,
        "hwloc does not understand the machine that HWLOC_SYNTHETIC or HWLOC_XMLFILE "
        "declares; expected a form like \"pack:2 l3:2 core:4 pu:1\" (it ends with pu), or a file "
        "that lstopo wrote");
  // Machines that tell no cores (some virtual ones) have hardware threads only.
  const bool has_cores = hwloc_get_nbobjs_by_type(tree.get(), HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t at = nullptr;
       (at = hwloc_get_next_obj_by_type(tree.get(), type, at)) != nullptr;)
    topology.cores_.push_back(read_core(tree.get(), at));
  topology.levels_ = read_levels(tree.get());
  topology.distances_ = read_distances(tree.get());
  topology.caches_ = read_caches(tree.get());
  return topology;
}

Result<Topology> Topology::this_node() {
  return load(nullptr);
}
Result<Topology> Topology::synthetic(const char* description) {
  return load(description);
}

int Topology::cpus() const {
  std::size_t n = 0;
  for (const Core& core : cores_) n += core.cpus.size();
  return static_cast<int>(n);
}

int Topology::numas() const {
  return count_distinct(cores_, [](const Core& c) { return c.numa; });
}
int Topology::packages() const {
  return count_distinct(cores_, [](const Core& c) { return c.package; });
}

Near Topology::near(int core_a, int core_b) const {
  const Core& a = cores_[static_cast<std::size_t>(core_a)];
  const Core& b = cores_[static_cast<std::size_t>(core_b)];
  if (core_a == core_b) return Near::core;
  if (a.llc == b.llc) return Near::llc;
  if (a.numa == b.numa) return Near::numa;
  return a.package == b.package ? Near::package : Near::machine;
}

std::string Topology::count_levels() const {
  std::string text;
  for (const Level& level : levels_)
    text += (text.empty() ? "" : ", ") + level.name + " " + std::to_string(level.parts);
  return text;
}

std::string Topology::describe() const {
  std::string text = count_levels() + (is_here_ ? "\n" : " (declared; not this machine)\n");
  for (std::size_t i = 0; i < cores_.size();) {
    const Core& first = cores_[i];
    std::vector<int> cpus;
    const auto together = [&](const Core& c) {
      return c.llc == first.llc && c.numa == first.numa && c.package == first.package;
    };
    for (; i < cores_.size() && together(cores_[i]); ++i)
      cpus.insert(cpus.end(), cores_[i].cpus.begin(), cores_[i].cpus.end());
    text += "  ";
    for (const Level& level : levels_)
      if (level.part(cpus.front()) >= 0 &&
          (level.name == "Package" || level.name == "NUMANode" || level.name == "L3Cache"))
        text += level.name + " " + std::to_string(level.part(cpus.front())) + ", ";
    text += "CPUs " + cpu_list(cpus) + "\n";
  }
  const std::size_t n = static_cast<std::size_t>(numas());
  if (n > 1 && distances_.size() == n * n) {
    text += "  memory distances (10 is local)\n";
    for (std::size_t row = 0; row < n; ++row) {
      text += "   ";
      for (std::size_t column = 0; column < n; ++column)
        text += " " + std::to_string(distances_[row * n + column]);
      text += "\n";
    }
  }
  return text;
}

}  // namespace weft::topo
