// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/kernel.h"

namespace weft {
namespace {

long long number(const std::string& text) {
  return strtoll(text.c_str(), nullptr, 10);
}

/// "1024 (`ulimit -n`; raise it with `ulimit -n 4096`)"; "" where there is no limit.
std::string shell_limit(int resource, const char* option, rlim_t unit) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  const std::string command = std::string("ulimit ") + option;
  const std::string now = std::to_string(limit.rlim_cur / unit);
  if (limit.rlim_max == RLIM_INFINITY)
    return now + " (" + command + "; raise it with `" + command + " unlimited`)";
  if (limit.rlim_max > limit.rlim_cur)
    return now + " (" + command + "; raise it with `" + command + " " +
           std::to_string(limit.rlim_max / unit) + "`)";
  return now + " (" + command + "; only root can raise it, in /etc/security/limits.conf)";
}

std::string own_cgroup() {
  std::string lines;
  char line[512];
  if (std::FILE* file = std::fopen("/proc/self/cgroup", "re")) {
    while (std::fgets(line, sizeof line, file) != nullptr) lines += line;
    std::fclose(file);
  }
  return lines;
}

struct GroupLimit {
  std::string text;
  bool is_reached = false;
};

/// Of this process's control group and those around it, the one that allows fewest processes.
GroupLimit cgroup_limit() {
  constexpr const char* root = "/sys/fs/cgroup";
  std::string best, where;
  for (std::string folder = pids_folder(own_cgroup(), root); folder.size() >= strlen(root);
       folder.resize(folder.rfind('/'))) {
    const std::string most = first_line(folder + "/pids.max");
    const bool is_number = !most.empty() && most != "max";
    if (!is_number || (!best.empty() && number(best) <= number(most))) continue;
    best = most;
    where = folder;
  }
  if (best.empty()) return {};
  const std::string taken = first_line(where + "/pids.current");
  return {"a control group may have so many processes and threads: " + best + " (pids.max of " +
              where + ", of which " + taken +
              " are taken; whoever started this container or session can raise it)",
          number(taken) >= number(best)};
}

/// A thread that gets no memory for its stack fails as if there were too many of them.
std::string memory_limit() {
  const std::string memory = shell_limit(RLIMIT_AS, "-v", 1024);
  return memory.empty() ? "" : "a process may have so many KiB of memory: " + memory;
}

std::string tasks_limit() {
  const std::string user = shell_limit(RLIMIT_NPROC, "-u", 1);
  const GroupLimit group = cgroup_limit();
  if (group.is_reached) return group.text;
  std::string out;
  for (const std::string& limit :
       {user.empty() ? "" : "a user may have so many processes and threads: " + user, group.text,
        memory_limit()})
    if (!limit.empty()) out += (out.empty() ? "" : "; ") + limit;
  if (!out.empty()) return out;
  return "the system may have so many threads: " + first_line("/proc/sys/kernel/threads-max") +
         " (sysctl kernel.threads-max), and so many numbers for them: " +
         first_line("/proc/sys/kernel/pid_max") + " (kernel.pid_max)";
}

std::string limit_of(int error) {
  switch (error) {
    case EMFILE: {
      const std::string files = shell_limit(RLIMIT_NOFILE, "-n", 1);
      return files.empty() ? "" : "a process may have so many files and pipes open: " + files;
    }
    case ENFILE:
      return "the system may have so many files open: " + first_line("/proc/sys/fs/file-max") +
             " (sysctl fs.file-max)";
    case EAGAIN:
      return tasks_limit();
    case ENOMEM:
      return memory_limit();
    case EFBIG: {
      const std::string file = shell_limit(RLIMIT_FSIZE, "-f", 1024);
      return file.empty() ? "" : "a file may have so many KiB: " + file;
    }
    default:
      return "";
  }
}

}  // namespace

std::string limit_behind(int error) {
  const int kept = errno;
  const std::string limit = limit_of(error);
  errno = kept;
  return limit.empty() ? "" : " (" + limit + ")";
}

std::string pids_folder(const std::string& cgroup, const std::string& root) {
  for (std::size_t at = 0; at < cgroup.size();) {
    const std::size_t end = std::min(cgroup.find('\n', at), cgroup.size());
    const std::string line = cgroup.substr(at, end - at);
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    at = end + 1;
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty()) return root + group;  // version 2
    if (("," + controllers + ",").find(",pids,") != std::string::npos)
      return root + "/pids" + group;
  }
  return "";
}

}  // namespace weft
