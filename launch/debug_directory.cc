// SPDX-License-Identifier: Apache-2.0
#include "debug_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "base/clock.h"
#include "options.h"

namespace weft::launch {
namespace {

/// A name that nobody has. mkdtemp would tell it when the directory is there, which is too late for
/// who shall remove it.
std::string new_name() {
  const char* base = getenv("TMPDIR");
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) < 0) number = static_cast<std::uint64_t>(now_ns());
  char end[40];
  snprintf(end, sizeof end, "/weft-debug-%016llx", static_cast<unsigned long long>(number));
  return std::string(base != nullptr && *base != 0 ? base : "/tmp") + end;
}

void remove_directory(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

/// The life of the process that owns the directory: make it, say whether that went well, wait,
/// remove it.
[[noreturn]] void own(const std::string& path, int answer, int alive) {
  setsid();
  const int error = mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
  for (int fd : {0, 1, 2}) close(fd);
  const bool heard = write(answer, &error, sizeof error) == sizeof error;
  close(answer);
  char nothing;
  while (heard && error == 0 && read(alive, &nothing, 1) < 0 && errno == EINTR) {
  }
  if (error == 0) remove_directory(path);
  _exit(0);
}

}  // namespace

DebugDirectory::DebugDirectory(bool wanted) {
  if (!wanted) return;
  path_ = new_name();
  int answer[2], alive[2];
  if (pipe2(answer, O_CLOEXEC) != 0 || pipe2(alive, O_CLOEXEC) != 0)
    throw Failure{1, std::string("weft: cannot make a pipe: ") + strerror(errno)};
  const pid_t parent = fork();
  int error = errno;
  if (parent == 0) {
    close(alive[1]);
    // Not our child: at the end we kill those that are still there.
    if (fork() == 0) own(path_, answer[1], alive[0]);
    _exit(0);
  }
  if (parent > 0) waitpid(parent, nullptr, 0);
  close(answer[1]);
  close(alive[0]);
  alive_ = alive[1];
  const ssize_t n = parent > 0 ? read(answer[0], &error, sizeof error) : -1;
  close(answer[0]);
  if (n == sizeof error && error == 0) return;
  if (n == 0) {  // it was killed, or could not be started
    remove_directory(path_);
    error = EAGAIN;
  }
  throw Failure{1, "weft: cannot make the directory " + path_ + ": " + strerror(error)};
}

DebugDirectory::~DebugDirectory() {
  if (alive_ < 0) return;
  remove_directory(path_);  // now, not soon
  close(alive_);
}

}  // namespace weft::launch
