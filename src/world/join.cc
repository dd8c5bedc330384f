// SPDX-License-Identifier: Apache-2.0
#include "world/join.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cpus.h"
#include "base/kernel.h"

namespace weft::world {
namespace {

constexpr const char *job_key = "job", *secret_key = "secret";

/// Of CPUs; process managers take no long values.
constexpr std::size_t longest_list = 255;

/// Where the first rank of a node has the segment that it has made, as it says.
struct Published {
  char boot[64] = "", path[64] = "", cpus[longest_list + 1] = "";  // that it may use
  Err read(const std::string& where, int first) {
    int pid = 0, fd = 0;
    if (std::sscanf(where.c_str(), "%63[^@]@%d@%d@%255[^@]@", boot, &pid, &fd, cpus) != 4)
      return fail(MPI_ERR_OTHER,
                  "rank %d published \"%s\" as the place of the job; is it another "
                  "version of weft?",
                  first, where.c_str());
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    return ok;
  }
};

/// The segment that rank `first` of this node has made.
Result<memory::Job*> open_published(const std::string& where, int first) {
  Published there;
  WEFT_TRY(there.read(where, first));
  if (kernel_id() != there.boot)
    return fail(MPI_ERR_OTHER,
                "rank %d runs on another machine, but the process manager does not say so; "
                "start the job with one that tells the nodes of its ranks (Hydra, Slurm, PRRTE)",
                first);
  const int own = open(there.path, O_RDWR | O_CLOEXEC);
  if (own < 0)
    return fail(MPI_ERR_OTHER,
                "cannot open the job segment of rank %d, %s: %s; ranks must run as one user "
                "and see each other's processes",
                first, there.path, std::strerror(errno));
  return memory::Job::open(own);
}

/// Numbers of nodes from 0 on; empty: there is one, or the manager does not say.
std::vector<std::int32_t> nodes_of(wireup::Manager& manager) {
  const Result<std::vector<int>> nodes = manager.nodes();
  if (!nodes) return {};
  std::map<int, std::int32_t> number;
  std::vector<std::int32_t> of;
  for (const int node : nodes.value)
    of.push_back(number.emplace(node, static_cast<std::int32_t>(number.size())).first->second);
  if (number.size() == 1) return {};
  return of;
}

/// How a node's first rank says it.
std::string published(memory::Job& job, std::span<const int> cpus) {
  std::string list = cpu_list(cpus);
  if (list.empty() || list.size() > longest_list) list = "?";
  return kernel_id() + "@" + std::to_string(getpid()) + "@" + std::to_string(job.fd()) + "@" +
         list + "@" + network_id();
}

/// What the first rank of a node learns of the others. Ranks on nodes that are only pretended, by
/// the manager, share the CPUs, unless each has its own; rank 0's secret is that of all nodes.
Err learn_from_others(wireup::Manager& manager, memory::Job& job,
                      const std::vector<std::int32_t>& node_of, std::span<const int> cpus) {
  const std::string boot = kernel_id(), network = network_id();
  std::ptrdiff_t sharing = 0;
  bool is_one_network = !network.empty();
  for (int node = 0; node < job.nodes(); ++node) {
    const auto first = std::find(node_of.begin(), node_of.end(), node) - node_of.begin();
    const Result<std::string> where = manager.get(static_cast<int>(first), job_key);
    if (!where) return where.err;
    Published there;
    WEFT_TRY(there.read(where.value, static_cast<int>(first)));
    const bool is_here = boot == there.boot;
    if (is_here && may_share_cpus(cpus, cpus_in(there.cpus)))
      sharing += std::count(node_of.begin(), node_of.end(), node);
    is_one_network = is_one_network && is_here && where.value.ends_with("@" + network);
  }
  job.header().loopback = is_one_network;
  job.header().sharing = static_cast<std::uint32_t>(sharing);
  const Result<std::string> secret = manager.get(0, secret_key);
  if (!secret) return secret.err;
  HashKey& key = job.header().secret;
  if (std::sscanf(secret.value.c_str(), "%" SCNx64 ".%" SCNx64, &key.half[0], &key.half[1]) != 2)
    return fail(MPI_ERR_OTHER,
                "rank 0 published a secret of %zu characters, which is none; is it "
                "another version of weft?",
                secret.value.size());
  job.header().identity = memory::identity_of(key);
  return ok;
}

}  // namespace

Result<std::string> memory_of(wireup::Manager& manager, int first) {
  const Result<std::string> where = manager.get(first, job_key);
  if (!where) return where.err;
  Published there;
  WEFT_TRY(there.read(where.value, first));
  return std::string(there.path);
}

Result<Placement> join_job(wireup::Manager& manager, const Params& params) {
  const int rank = manager.rank(), size = manager.size();
  std::vector<std::int32_t> node_of;
  if (size > 1) node_of = nodes_of(manager);
  int first = 0;  // of this node
  if (!node_of.empty()) {
    const std::int32_t node = node_of[static_cast<std::size_t>(rank)];
    first = static_cast<int>(std::find(node_of.begin(), node_of.end(), node) - node_of.begin());
  }
  const std::vector<int> cpus = allowed_cpus();
  memory::Job* job = nullptr;
  if (rank == first) {
    const int quota = cpu_quota(), usable = usable_cpus(quota), universe = manager.universe();
    const Result<memory::Job*> made = memory::Job::create(
        size, cpus.empty() ? usable : 0, params, node_of, universe > 0 ? universe : usable);
    if (!made) return made.err;
    job = made.value;
    job->header().cpu_quota = static_cast<std::uint32_t>(quota);
    if (size > 1) WEFT_TRY(manager.put(job_key, published(*job, cpus)));
  }
  if (rank == 0 && !node_of.empty()) {
    char secret[40];
    const HashKey& key = job->header().secret;
    std::snprintf(secret, sizeof secret, "%" PRIx64 ".%" PRIx64, key.half[0], key.half[1]);
    WEFT_TRY(manager.put(secret_key, secret));
  }
  if (size > 1) WEFT_TRY(manager.fence());
  if (rank != first) {
    const Result<std::string> where = manager.get(first, job_key);
    if (!where) return where.err;
    const Result<memory::Job*> opened = open_published(where.value, first);
    if (!opened) return opened.err;
    job = opened.value;
  } else if (!node_of.empty()) {
    WEFT_TRY(learn_from_others(manager, *job, node_of, cpus));
  }
  job->add_cpus(cpus);  // the manager may have bound each rank
  job->entry(rank).appnum = manager.appnum();
  job->entry(rank).app_size = size;
  job->entry(rank).pid.store(getpid(), std::memory_order_relaxed);  // seen behind the fence
  // The first may not close or leave before everybody has opened the segment.
  if (size > 1) WEFT_TRY(manager.fence());
  return Placement{job, rank, 1};
}

}  // namespace weft::world
