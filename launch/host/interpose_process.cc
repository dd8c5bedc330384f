// SPDX-License-Identifier: Apache-2.0
//
// Child processes of a rank: they get the rank's environment and standard descriptors, and the
// rank's program when they ask /proc/self/exe who they are.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "host.h"
#include "next.h"

using namespace weft::host;

namespace {

/// Run `command` by the shell with the rank's environment; descriptor `target` of the child (or
/// none, -1) becomes `end`. Returns 0 or an error number.
int spawn_shell(Rank& rank, const char* command, int target, int end, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd < 3; fd++)
    posix_spawn_file_actions_adddup2(&actions, fd == target ? end : rank.descriptors[fd], fd);
  const char* arguments[] = {"sh", "-c", command, nullptr};
  const int e = posix_spawn(&child, "/bin/sh", &actions, nullptr, const_cast<char**>(arguments),
                            rank.environ_array());
  posix_spawn_file_actions_destroy(&actions);
  return e;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

bool is_own_program(const char* path) {
  return current() && strcmp(path, "/proc/self/exe") == 0;
}

ssize_t copy_program_path(char* buffer, std::size_t size) {
  const std::string& path = the_host->plan.program().path();
  const std::size_t n = std::min(size, path.size());
  memcpy(buffer, path.data(), n);
  return static_cast<ssize_t>(n);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int system(const char* command) {
  static constinit Next<int(const char*)> real{"system"};
  Rank* rank = current();
  if (!rank || !command) return real(command);
  pid_t child = 0;
  if (int e = spawn_shell(*rank, command, -1, -1, child); e != 0) {
    errno = e;
    return -1;
  }
  return wait_for(child);
}

FILE* popen(const char* command, const char* mode) {
  static constinit Next<FILE*(const char*, const char*)> real{"popen"};
  Rank* rank = current();
  if (!rank) return real(command, mode);
  const bool reads = mode[0] == 'r';
  int ends[2];
  if ((!reads && mode[0] != 'w') || pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  const int ours = reads ? ends[0] : ends[1], theirs = reads ? ends[1] : ends[0];
  pid_t child = 0;
  const int e = spawn_shell(*rank, command, reads ? 1 : 0, theirs, child);
  close(theirs);
  FILE* f = e == 0 ? fdopen(ours, reads ? "r" : "w") : nullptr;
  if (!f) {
    close(ours);
    errno = e;
    return nullptr;
  }
  std::scoped_lock guard(rank->lock);
  rank->pipes.emplace_back(f, child);
  return f;
}

int pclose(FILE* f) {
  static constinit Next<int(FILE*)> real{"pclose"};
  Rank* rank = current();
  if (!rank) return real(f);
  std::unique_lock guard(rank->lock);
  auto it = std::ranges::find(rank->pipes, f, &std::pair<FILE*, pid_t>::first);
  if (it == rank->pipes.end()) return real(f);
  const pid_t child = it->second;
  rank->pipes.erase(it);
  guard.unlock();
  fclose(f);
  return wait_for(child);
}

ssize_t readlink(const char* path, char* buffer, std::size_t size) {
  static constinit Next<ssize_t(const char*, char*, std::size_t)> real{"readlink"};
  return is_own_program(path) ? copy_program_path(buffer, size) : real(path, buffer, size);
}

ssize_t __readlink_chk(const char* path, char* buffer, std::size_t size, std::size_t) {
  return readlink(path, buffer, size);
}

#pragma GCC visibility pop
}
