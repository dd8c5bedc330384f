// SPDX-License-Identifier: Apache-2.0
#include "world/join.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace weft::world {
namespace {

constexpr const char* job_key = "job";

// Distinguishes running kernels, and so nodes, where host names may be equal.
std::string boot_id() {
  char text[64] = "";
  if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (std::fgets(text, sizeof text, file) == nullptr) text[0] = 0;
    std::fclose(file);
  }
  text[std::strcspn(text, "\n")] = 0;
  return text[0] != 0 ? text : "unknown";
}

int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

Result<memory::Job*> open_published(const std::string& where) {
  char boot[64] = "";
  int pid = 0, fd = 0;
  if (std::sscanf(where.c_str(), "%63[^:]:%d:%d", boot, &pid, &fd) != 3)
    return fail(MPI_ERR_OTHER,
                "rank 0 published \"%s\" as the place of the job; is it another "
                "version of weft?",
                where.c_str());
  if (boot_id() != boot)
    return fail(MPI_ERR_OTHER,
                "rank 0 runs on another machine, and weft has no network lane yet; "
                "start all ranks on one node");
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const int own = open(path, O_RDWR | O_CLOEXEC);
  if (own < 0)
    return fail(MPI_ERR_OTHER,
                "cannot open rank 0's job segment %s: %s; ranks must run as one user "
                "and see each other's processes",
                path, std::strerror(errno));
  return memory::Job::open(own);
}

/// Whether the manager says that they run on several nodes. One that does not say is taken at the
/// word of rank 0's address.
Err check_one_node(wireup::Manager& manager) {
  const Result<std::vector<int>> nodes = manager.nodes();
  if (!nodes) return ok;
  std::vector<int> each = nodes.value;
  std::sort(each.begin(), each.end());
  const auto count = std::unique(each.begin(), each.end()) - each.begin();
  if (count == 1) return ok;
  return fail(MPI_ERR_OTHER,
              "the job's %d ranks run on %td nodes, and weft has no network lane yet; start all "
              "ranks on one node",
              manager.size(), count);
}

}  // namespace

Result<Placement> join_job(wireup::Manager& manager, const Params& params) {
  const int rank = manager.rank(), size = manager.size();
  if (size > 1) WEFT_TRY(check_one_node(manager));
  memory::Job* job = nullptr;
  if (rank == 0) {
    const Result<memory::Job*> made = memory::Job::create(size, allowed_cpus(), params);
    if (!made) return made.err;
    job = made.value;
    if (size > 1)
      WEFT_TRY(manager.put(
          job_key, boot_id() + ":" + std::to_string(getpid()) + ":" + std::to_string(job->fd())));
  }
  if (size > 1) WEFT_TRY(manager.fence());
  if (rank != 0) {
    const Result<std::string> where = manager.get(0, job_key);
    if (!where) return where.err;
    const Result<memory::Job*> opened = open_published(where.value);
    if (!opened) return opened.err;
    job = opened.value;
  }
  job->entry(rank).appnum = manager.appnum();
  job->entry(rank).app_size = size;
  // Rank 0 may not close or leave before everybody has opened the segment.
  if (size > 1) WEFT_TRY(manager.fence());
  return Placement{job, rank, 1};
}

}  // namespace weft::world
